"""From a text to the structure a task asks for: read it, find it, or have the model write it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from crewgraph.compiler.agent.protocol import reply_text
from crewgraph.core.digests import Transcript
from crewgraph.core.effects import Body, Call, EffectFailed, ModelCall
from crewgraph.core.messages import Reply
from crewgraph.core.protocols import Model
from crewgraph.definitions.task.task import Task
from crewgraph.errors import NoModelError
from crewgraph.llm.current_call import ONGOING, OngoingCall
from crewgraph.llm.resolve import as_llm
from crewgraph.llm.structure import read_structure
from crewgraph.llm.usage import UsageLedger
from crewgraph.overrides import override_of
from crewgraph.prompts.book import Book
from crewgraph.schema import described

__all__ = ["Structured", "fitted", "structure_output"]


_ATTEMPTS = 3


@dataclass(frozen=True, kw_only=True)
class Structured:
    """What a text was turned into."""

    pydantic: BaseModel | None = None
    json_dict: dict[str, Any] | None = None
    raw: str | None = None
    """What stands in the place of the text."""

    problem: str | None = None
    """Why there is no structure, where one was asked for."""


def structure_output(
    task: Task, text: str, maker: Any, model: Callable[[], Model], llm: Any, book: Book, usage: UsageLedger
) -> Body[Structured]:
    """The structure that `task` asks for, out of `text`.

    Args:
        task: says what is asked for.
        text: what the agent wrote.
        maker: makes the converter that is asked where the text has none, if that is the user's.
        model: gives who is asked instead.
        llm: the same as the user gave it, for a class of his.
        book: the wording.
        usage: where requests are counted.
    """
    schema = task.output_pydantic or task.output_json or task.response_model
    if schema is None:
        return Structured()
    found, problem = read_structure(text, schema)
    if found is None and maker is not None:
        found, problem = yield from _by_own_class(maker, task, text, schema, llm, book, usage)
    elif found is None:
        found, problem = yield from fitted(text, schema, model, book, usage)
    if found is None:
        return Structured(problem=problem)
    if task.output_json is not None:
        fields: Any = found.model_dump(mode="json")
        if isinstance(fields, dict):
            return Structured(json_dict=cast(dict[str, Any], fields))
        return Structured(
            problem=f"`output_json` gives dicts, and `{schema.__name__}` is none; give it as `output_pydantic`"
        )
    if task.output_pydantic is None:
        return Structured(raw=found.model_dump_json())
    return Structured(pydantic=found)


def fitted(
    text: str, schema: type[BaseModel], model: Callable[[], Model], book: Book, usage: UsageLedger
) -> Body[tuple[BaseModel | None, str]]:
    """The instance of a schema in a text, or None and why there is none; the model is needed where it cannot be read."""
    found, problem = read_structure(text, schema)
    if found is not None:
        return found, ""
    try:
        asked = model()
    except NoModelError:  # somebody who works without a model, as a graph does
        return None, f"{problem}, and the agent has no model to ask; give it `llm=`"
    return (yield from _asked(text, schema, asked, book, usage, problem))


def _by_own_class(
    maker: Any, task: Task, text: str, schema: type[BaseModel], llm: Any, book: Book, usage: UsageLedger
) -> Body[tuple[BaseModel | None, str]]:
    """What a converter of the user's makes of the text; its requests are a part of one effect."""
    instructions = book.slice("conversion_system", schema=described(schema))
    counted = OngoingCall()
    try:
        made: dict[str, Any] = yield Call(
            function=partial(_converted, maker, task.output_json is not None),
            keywords={"llm": as_llm(llm), "text": text, "model": schema, "instructions": instructions},
            name=maker.__name__,
            kind="converter",
            about=[text, schema.__name__],
            enter=partial(ONGOING.set, counted),
            encode=lambda made: {**_told(made), "used": counted.used},
        )
    except EffectFailed as failure:
        return None, f"`{maker.__name__}` did not convert it: {failure}"
    name = getattr(llm, "model", None)
    for one in made["used"]:
        usage.count(name if isinstance(name, str) else maker.__name__, one)
    if "fields" in made:  # as JSON, which strict models read in their way
        try:
            return schema.model_validate_json(json.dumps(made["fields"]), by_alias=False, by_name=True), ""
        except ValidationError as error:
            return None, f"`{maker.__name__}` made something else of it: {error}"
    found, problem = read_structure(made["text"], schema)
    return found, problem and f"`{maker.__name__}` made something else of it: {problem}"


def _converted(maker: Any, as_json: bool, **given: Any) -> Any:
    made, asked = maker(**given), "to_json" if as_json else "to_pydantic"
    own = override_of(made, asked) or override_of(made, "convert")  # a class may have written `convert` alone
    return own() if own is not None else getattr(made, asked)()


def _told(made: Any) -> dict[str, Any]:
    """What a converter gave, as plain data: fields by their names, or a text that holds JSON."""
    if isinstance(made, Exception):  # some converters give their failure back
        raise made
    if isinstance(made, BaseModel):
        return {"fields": made.model_dump(mode="json", by_alias=False, round_trip=True)}
    return {"text": made if isinstance(made, str) else json.dumps(made)}


def _asked(
    text: str, schema: type[BaseModel], model: Model, book: Book, usage: UsageLedger, problem: str
) -> Body[tuple[BaseModel | None, str]]:
    transcript = Transcript(
        [
            {"role": "system", "content": book.slice("conversion_system", schema=described(schema))},
            {"role": "user", "content": book.slice("conversion_text", text=text)},
        ]
    )
    for _ in range(_ATTEMPTS):
        try:
            reply: Reply = yield ModelCall(model=model, transcript=transcript)
        except EffectFailed as failure:
            # What the agent wrote is worth more than its structure: the task keeps it.
            return None, f"the model could not be asked: {failure}"
        usage.answered(model, reply)
        answer = reply_text(reply["content"])
        found, problem = read_structure(answer, schema)
        if found is not None:
            return found, ""
        transcript.add({"role": "assistant", "content": answer})
        transcript.add({"role": "user", "content": book.slice("conversion_again", error=problem)})
    return None, problem
