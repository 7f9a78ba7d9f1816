"""What an agent at work asks people: whether its answer will do, and whether it may use a tool."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from crewgraph.core.effects import Ask, Body
from crewgraph.prompts.book import Book

__all__ = ["APPROVAL", "FEEDBACK", "Asker", "feedback_on"]

FEEDBACK = "feedback"
"""The kind of a question about an answer."""

APPROVAL = "approval"
"""The kind of a question whether a tool may be used."""

_UNREADABLE = "It is neither a text that says what should be changed, nor True."


@dataclass(frozen=True, kw_only=True)
class Asker:
    """An agent at work, when it asks people."""

    agent: str
    """Its role."""

    task: str | None
    """The name of the task's node; None where it answers messages."""

    book: Book
    asked: Callable[[Mapping[str, Any]], None]
    """Is told of a question."""

    answered: Callable[[Mapping[str, Any], Any], None]
    """Is told of a question's answer."""

    def ask(self, kind: str, text: str, stage: str, **more: Any) -> Ask:
        """A question.

        Args:
            kind: `FEEDBACK` or `APPROVAL`.
            text: what is asked.
            stage: the step of a task that it belongs to.
            more: what is to be looked at, as plain data; what is None is left out.
        """
        about = {name: value for name, value in more.items() if value is not None}
        question: dict[str, Any] = {"kind": kind, "text": text, "task": self.task, "agent": self.agent, **about}
        return Ask(
            question,
            stage=stage,
            asked=partial(self.asked, question),
            answered=partial(self.answered, question),
        )


def feedback_on(answer: str, asker: Asker) -> Body[str]:
    """What a person says of an answer; empty where they accept it."""
    refused = None
    while True:
        text = asker.book.slice("getting_input", final_answer=answer)
        said = yield asker.ask(FEEDBACK, text, "model", answer=answer, refused=refused)
        feedback = _feedback(said)
        if feedback is not None:
            return feedback
        refused = f"{said!r:.200} cannot be taken. {_UNREADABLE}"


def _feedback(said: Any) -> str | None:
    """What was said; empty where that accepts, None where it cannot be read."""
    if isinstance(said, Mapping):
        said = cast("Mapping[str, Any]", said).get(FEEDBACK)
    if said is True:
        return ""
    return said.strip() if isinstance(said, str) else None
