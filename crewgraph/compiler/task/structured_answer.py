"""Requests for structured replies, native if the model supports them, and retried when a reply cannot be parsed."""

from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from pydantic import BaseModel

from crewgraph.compiler.agent.dialogue import is_refused, is_unfinished
from crewgraph.compiler.agent.protocol import final_text
from crewgraph.core.digests import Transcript
from crewgraph.core.effects import Body, EffectFailed, ModelCall
from crewgraph.core.messages import Message, Reply
from crewgraph.core.protocols import Model
from crewgraph.llm.structure import read_structure, structured_model
from crewgraph.llm.usage import UsageLedger
from crewgraph.prompts.book import Book

__all__ = ["StructuredReply", "request_structured"]


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
) -> Body[StructuredReply[_Schema]]:
    """Request a reply that is an instance of a schema.

    Args:
        messages: the messages, which describe the schema.
        schema: the pydantic model.
        model: the model.
        book: the prompts.
        usage: counts the requests.
        attempts: the maximum number of requests.
        stage: the step of a task that the requests belong to.
    """
    transcript = Transcript(messages)
    text, problem, structured = "", "", structured_model(model, schema)
    for _ in range(attempts):
        request = ModelCall(model=model, transcript=transcript, stage=stage)
        try:
            reply: Reply = yield request if structured is None else replace(request, model=structured)
        except EffectFailed as failure:
            usage.failed(failure.spent)
            if is_unfinished(failure):
                problem = failure.text
                continue
            if structured is None or not is_refused(failure):
                raise
            structured = None  # not every server knows response formats
            reply = yield request
        usage.answered(model, reply)
        text = final_text(reply)
        value, problem = (None, "it was cut off") if "cut" in reply else read_structure(text, schema)
        if value is not None:
            return StructuredReply(value, text, "")
        if text:
            transcript.add({"role": "assistant", "content": text})
        transcript.add({"role": "user", "content": book.slice("conversion_again", error=problem)})
    return StructuredReply(None, text, problem)
