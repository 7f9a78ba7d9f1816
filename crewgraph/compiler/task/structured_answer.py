"""A model is asked for an answer of a certain form, and asked again where it cannot be read."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel

from crewgraph.compiler.agent.protocol import final_text
from crewgraph.core.digests import Transcript
from crewgraph.core.effects import Body, ModelCall
from crewgraph.core.messages import Message, Reply
from crewgraph.core.protocols import Model
from crewgraph.llm.structure import read_structure
from crewgraph.llm.usage import UsageLedger
from crewgraph.prompts.book import Book

__all__ = ["StructuredReply", "request_structured"]


_M = TypeVar("_M", bound=BaseModel)


@dataclass(frozen=True)
class StructuredReply(Generic[_M]):
    """What became of a request for an answer of a certain form."""

    found: _M | None
    """The answer; None where none of the replies could be read."""

    text: str
    """The last reply."""

    problem: str
    """Why that cannot be read; empty where it was."""


def request_structured(
    messages: list[Message],
    schema: type[_M],
    model: Model,
    book: Book,
    usage: UsageLedger,
    *,
    attempts: int = 3,
    stage: str = "model",
) -> Body[StructuredReply[_M]]:
    """The answer of a model in the form of a schema.

    Args:
        messages: what it is asked; they say what the form is.
        schema: the form.
        model: who is asked.
        book: the wording.
        usage: where requests are counted.
        attempts: how often it is asked at the most.
        stage: the step of a task that the requests belong to.
    """
    transcript = Transcript(messages)
    text, problem = "", ""
    for _ in range(attempts):
        reply: Reply = yield ModelCall(model=model, transcript=transcript, stage=stage)
        usage.answered(model, reply)
        text = final_text(reply)
        found, problem = read_structure(text, schema)
        if found is not None:
            return StructuredReply(found, text, "")
        if text:
            transcript.add({"role": "assistant", "content": text})
        transcript.add({"role": "user", "content": book.slice("conversion_again", error=problem)})
    return StructuredReply(None, text, problem)
