"""What an agent at work asks people: whether its answer will do, and whether it may use a tool.

What a `HumanInputProvider` does for an agent at work: it is shown the beginning, and the answer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from crewgraph.compiler.agent.binding import AgentBinding
from crewgraph.compiler.agent.human_review import HumanInputProvider, WorkInReview
from crewgraph.compiler.task.briefing import OngoingTask
from crewgraph.core.effects import Ask, Body, Call
from crewgraph.core.messages import Message
from crewgraph.definitions.agent.last_run import AgentFinish
from crewgraph.definitions.task.task import Task
from crewgraph.llm.usage import UsageLedger
from crewgraph.prompts.book import Book

__all__ = ["APPROVAL", "FEEDBACK", "Asker", "Reviewer", "feedback_on"]


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


@dataclass(frozen=True, kw_only=True)
class Reviewer:
    """A provider, and the work that it looks at."""

    provider: HumanInputProvider
    binding: AgentBinding
    task: Task
    ongoing: OngoingTask
    """The same work, for what is used while the provider looks at it."""

    def begins(self, messages: Sequence[Message]) -> Body[list[Message]]:
        """What the agent begins with, where the provider has its say."""
        work = WorkInReview(self.binding, self.task, messages)
        begun: list[Message] = yield Call(
            function=partial(_set_up, self.provider, work),
            name="setup_messages",
            kind="human input",
            about=self.binding.slug,
            aside=True,
        )
        return begun

    def accepted(self, answer: str, messages: Sequence[Message], usage: UsageLedger) -> Body[tuple[str, list[Message]]]:
        """The answer that the provider accepts, and what was said before it.

        Args:
            answer: the agent's.
            messages: what was said before it.
            usage: where requests are counted that the provider causes.
        """
        said: list[Message] = [*messages, {"role": "assistant", "content": answer}]
        work = WorkInReview(self.binding, self.task, said)
        finish = AgentFinish(thought="", output=answer, text=answer)
        handled: Mapping[str, Any] = yield Call(
            function=self.provider.handle_feedback,
            afunction=getattr(self.provider, "handle_feedback_async", None),
            args=(finish, work),
            name="handle_feedback",
            kind="human input",
            about=answer,
            enter=self.ongoing.enter,
            encode=partial(_handled, work, self.ongoing),
        )
        usage.add(handled["usage"])
        told = cast("list[Message]", handled["said"])
        if told and told[-1]["role"] == "assistant":
            told = told[:-1]
        return handled["answer"], told


def _set_up(provider: HumanInputProvider, work: WorkInReview) -> list[Message]:
    if not provider.setup_messages(work):
        provider.post_setup_messages(work)
    return work.said


def _handled(work: WorkInReview, ongoing: OngoingTask, finish: Any) -> dict[str, Any]:
    answer = getattr(finish, "output", finish)
    return {"answer": str(answer), "said": work.said, "usage": ongoing.usage.to_plain()}
