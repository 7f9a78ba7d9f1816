"""Structured output of tasks: parsed from the answer, else converted by the user's converter or by a model."""

import json
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar, cast

from pydantic import BaseModel, ValidationError

from crewgraph.compiler.agent.dialogue import is_refused, is_unfinished
from crewgraph.compiler.agent.protocol import final_text, reply_text
from crewgraph.compiler.agent.runner import AgentRunner
from crewgraph.core.digests import Transcript
from crewgraph.core.effects import Body, Call, EffectFailed, ModelCall
from crewgraph.core.messages import Message, Reply
from crewgraph.core.protocols import Model
from crewgraph.definitions.task.task import TaskDefinition
from crewgraph.errors import NoModelError
from crewgraph.llm.current_call import OngoingCall
from crewgraph.llm.resolve import as_llm
from crewgraph.llm.structure import read_structure, reply_structure, structured_model
from crewgraph.llm.usage import UsageLedger
from crewgraph.overrides import override_of
from crewgraph.prompts.i18n import Book
from crewgraph.schema import PlainDict, model_outline


@dataclass(frozen=True, kw_only=True)
class Structured:
    """The result of converting a text."""

    pydantic: BaseModel | None = None
    json_dict: dict[str, object] | None = None
    raw: str | None = None
    """A replacement for the text."""

    problem: str | None = None
    """The reason why a requested structure is missing."""


UNSTRUCTURED = Structured()


def structure_output(
    task: TaskDefinition, schema: type[BaseModel], text: str, runner: AgentRunner, *, demand: bool
) -> Body[Structured]:
    """Convert a text to the structure that a task asks for.

    Args:
        task: the task that requests it.
        schema: the structure.
        text: the agent's answer.
        runner: the agent, whose converter or model is used where the text cannot be parsed.
        demand: whether a text that does not hold the structure is converted.
    """
    instance, problem = read_structure(text, schema)
    if instance is None and not demand:
        return Structured(problem=problem)
    if instance is None and (converter_class := task.converter_cls or runner.converter_override) is not None:
        instance, problem = yield from _convert_with_class(converter_class, task, text, schema, runner)
    elif instance is None:
        instance, problem = yield from convert_text(text, schema, runner)
    if instance is None:
        return Structured(problem=problem)
    return structured(task, instance)


def structured(task: TaskDefinition, instance: BaseModel) -> Structured:
    """Return an instance in the form that a task asks for."""
    if task.output_json is not None:
        fields: Any = instance.model_dump(mode="json")
        if isinstance(fields, dict):
            return Structured(json_dict=cast(PlainDict, fields))
        return Structured(
            problem=f"`output_json` returns dicts, but `{type(instance).__name__}` is not one; use `output_pydantic`"
        )
    if task.output_pydantic is None:
        return Structured(raw=instance.model_dump_json())
    return Structured(pydantic=instance)


def convert_text(text: str, schema: type[BaseModel], runner: AgentRunner) -> Body[tuple[BaseModel | None, str]]:
    """Return the instance of a schema in a text, or None and the reason; a model is only needed if parsing fails."""
    instance, problem = read_structure(text, schema)
    if instance is not None:
        return instance, ""
    try:
        model = runner.converter
    except NoModelError:  # the agent works without a model, e.g. with a graph
        return None, f"{problem}, and the agent has no model to ask; give it `llm=`"
    book = runner.book
    messages: list[Message] = [
        {"role": "system", "content": book.slice("conversion_system", schema=model_outline(schema))},
        {"role": "user", "content": book.slice("conversion_text", text=text)},
    ]
    try:
        reply = yield from request_structured(messages, schema, model, book, runner.usage, falls_back=True)
    except EffectFailed as failure:  # the answer matters more than its structure: the task continues with the text
        return None, f"the model could not be asked: {failure}"
    return reply.value, reply.problem


def _convert_with_class(
    converter_class: Any,
    task: TaskDefinition,
    text: str,
    schema: type[BaseModel],
    runner: AgentRunner,
) -> Body[tuple[BaseModel | None, str]]:
    """Convert a text with the user's converter; its requests are part of one effect."""
    llm = runner.converter_llm
    instructions = runner.book.slice("conversion_system", schema=model_outline(schema))
    counted = OngoingCall()
    try:
        outcome: PlainDict = yield Call(
            function=partial(_run_converter, converter_class, task.output_json is not None),
            keywords={"llm": as_llm(llm), "text": text, "model": schema, "instructions": instructions},
            name=converter_class.__name__,
            kind="converter",
            about=[text, schema.__name__],
            enter=counted.enter,
            encode=lambda outcome: {**_encode_converted(outcome), "used": counted.used},
        )
    except EffectFailed as failure:
        return None, f"`{converter_class.__name__}` did not convert it: {failure}"
    name = getattr(llm, "model", None)
    for tokens in outcome["used"]:
        runner.usage.count(name if isinstance(name, str) else converter_class.__name__, tokens)
    if "fields" in outcome:  # as JSON, which strict models validate by other rules
        try:
            return schema.model_validate_json(json.dumps(outcome["fields"]), by_alias=False, by_name=True), ""
        except ValidationError as error:
            return None, f"`{converter_class.__name__}` returned something else: {error}"
    instance, problem = read_structure(outcome["text"], schema)
    return instance, problem and f"`{converter_class.__name__}` returned something else: {problem}"


def _run_converter(converter_class: Any, as_json: bool, **arguments: Any) -> Any:
    converter, method = converter_class(**arguments), "to_json" if as_json else "to_pydantic"
    override = override_of(converter, method) or override_of(converter, "convert")  # a class may only define `convert`
    return override() if override is not None else getattr(converter, method)()


def _encode_converted(converted: object) -> dict[str, object]:
    """Return what a converter returned as plain data: fields by name, or a text that holds JSON."""
    if isinstance(converted, Exception):  # some converters return their failure
        raise converted
    if isinstance(converted, BaseModel):
        return {"fields": converted.model_dump(mode="json", by_alias=False, round_trip=True)}
    return {"text": converted if isinstance(converted, str) else json.dumps(converted)}


_Schema = TypeVar("_Schema", bound=BaseModel)


@dataclass(frozen=True)
class StructuredReply(Generic[_Schema]):
    """The result of requesting a structured reply."""

    value: _Schema | None
    """The parsed reply; None where no reply could be parsed."""

    text: str
    """The last reply."""

    problem: str
    """Why the last reply cannot be parsed; empty if it was parsed."""


def request_structured(
    messages: list[Message],
    schema: type[_Schema],
    model: Model,
    book: Book,
    usage: UsageLedger,
    *,
    attempts: int = 3,
    stage: str = "model",
    falls_back: bool = False,
) -> Body[StructuredReply[_Schema]]:
    """Request a reply that is an instance of a schema.

    Args:
        messages: the messages, which describe the schema.
        schema: the pydantic model.
        model: the model.
        book: the prompts.
        usage: counts the requests.
        attempts: the maximum number of requests, without one that fails because of the model's own way.
        stage: the step of a task that the requests belong to.
        falls_back: whether a model that fails to answer in its own way is asked for a text, whatever the failure.
    """
    transcript = Transcript(messages)
    text, problem, asked = "", "", structured_model(model, schema) or model
    while attempts:
        try:
            reply: Reply = yield ModelCall(model=asked, transcript=transcript, stage=stage)
        except EffectFailed as failure:
            usage.failed(failure.spent)
            if is_unfinished(failure):
                problem = failure.text
                attempts -= 1
                continue
            if asked is model or not (falls_back or is_refused(failure)):
                raise
            asked = model  # not every server knows response formats, or all of a schema
            continue
        attempts -= 1
        usage.answered(asked, reply)
        text = reply_structure(reply, schema, any_name=True) or final_text(reply)
        if _is_within_object(text, reply):  # what looked like the label of an answer is part of a value
            text = reply_text(reply["content"])
        value, problem = (None, "it was cut off") if "cut" in reply else read_structure(text, schema)
        if value is not None:
            return StructuredReply(value, text, "")
        if text:
            transcript.add({"role": "assistant", "content": text})
        transcript.add({"role": "user", "content": book.slice("conversion_again", error=problem)})
    return StructuredReply(None, text, problem)


def _is_within_object(answer: str, reply: Reply) -> bool:
    """Return whether an answer starts in the middle of a JSON object in a reply."""
    before = reply_text(reply["content"]).partition(answer)[0] if answer else ""
    return before.count("{") > before.count("}")
