"""Questions to people: feedback on an agent's answer, and approval of its tool calls.

A `HumanInputProvider`, if one is set, sees the opening messages and the answer instead.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from crewgraph.compiler.agent.binding import AgentBinding
from crewgraph.compiler.agent.human_review import ExecutorContext, HumanInputProvider
from crewgraph.compiler.agent.inbox import inbox_fields, read_inbox_reply
from crewgraph.compiler.task.briefing import OngoingTask
from crewgraph.core.effects import Ask, Body, Call
from crewgraph.core.loops.bridge import call
from crewgraph.core.messages import Message
from crewgraph.definitions.agent.last_run import AgentFinish
from crewgraph.definitions.task.task import TaskDefinition
from crewgraph.llm.usage import UsageLedger
from crewgraph.prompts.i18n import Book
from crewgraph.schema import PlainDict, PlainMapping

FEEDBACK = "feedback"
"""The kind of a question about an answer."""

APPROVAL = "approval"
"""The kind of a question about a tool call."""

_EXPECTED_FEEDBACK = "It is neither a text that says what should be changed, nor True."


@dataclass(kw_only=True, eq=False)
class Asker:
    """Asks people on behalf of an agent."""

    agent: str
    """The agent's role."""

    task: str | None
    """The name of the task's node; None outside of a task."""

    book: Book
    on_asked: Callable[[Mapping[str, object]], None]
    """Called with a question."""

    on_answered: Callable[[Mapping[str, object], object], None]
    """Called with a question and its answer."""

    def ask(self, kind: str, text: str, stage: str, **details: object) -> Ask:
        """Return the effect of asking a question.

        Args:
            kind: `FEEDBACK` or `APPROVAL`.
            text: the question.
            stage: the step of a task that it belongs to.
            details: the subject of the question, as plain data; None values are left out.
        """
        fields: PlainDict = {name: value for name, value in details.items() if value is not None}
        question: PlainDict = {"kind": kind, "text": text, "task": self.task, "agent": self.agent, **fields}
        return Ask(
            question,
            payload=inbox_fields(text, fields.get("tool"), fields.get("args"), fields.get("answer")),
            stage=stage,
            asked=partial(self.on_asked, question),
            answered=partial(self.on_answered, question),
        )


def feedback_on(answer: str, asker: Asker) -> Body[str]:
    """Ask a person for feedback on an answer; return an empty string if they accept it."""
    rejection = None
    while True:
        text = asker.book.slice("getting_input", final_answer=answer)
        reply = yield asker.ask(FEEDBACK, text, "model", answer=answer, refused=rejection)
        feedback = _parse_feedback(reply)
        if feedback is not None:
            return feedback
        rejection = f"{reply!r:.200} cannot be taken. {_EXPECTED_FEEDBACK}"


def _parse_feedback(reply: object) -> str | None:
    """Parse a reply: empty to accept the answer, None if it is neither a text nor True."""
    reply = read_inbox_reply(reply, None)
    if isinstance(reply, Mapping):
        reply = cast("PlainMapping", reply).get(FEEDBACK)
    if reply is True:
        return ""
    return reply.strip() if isinstance(reply, str) else None


@dataclass(frozen=True, kw_only=True)
class Reviewer:
    """A provider, and the work that it reviews."""

    provider: HumanInputProvider
    binding: AgentBinding
    task: TaskDefinition
    ongoing: OngoingTask
    """The task, which counts the usage that the provider causes."""

    def opening_messages(self, messages: Sequence[Message]) -> Body[list[Message]]:
        """Return the messages the agent starts with, as the provider sets them up."""
        work = ExecutorContext(self.binding, self.task, messages)
        opening: list[Message] = yield Call(
            function=partial(_set_up, self.provider, work),
            name="setup_messages",
            kind="human input",
            about=self.binding.slug,
            aside=True,
        )
        return opening

    def review(self, answer: str, messages: Sequence[Message], usage: UsageLedger) -> Body[tuple[str, list[Message]]]:
        """Return the answer that the provider accepts, and the messages before it.

        Args:
            answer: the agent's answer.
            messages: the messages before it.
            usage: counts the requests that the provider causes.
        """
        conversation: list[Message] = [*messages, {"role": "assistant", "content": answer}]
        work = ExecutorContext(self.binding, self.task, conversation)
        finish = AgentFinish(thought="", output=answer, text=answer)
        handled: PlainMapping = yield Call(
            function=self.provider.handle_feedback,
            afunction=getattr(self.provider, "handle_feedback_async", None),
            args=(finish, work),
            name="handle_feedback",
            kind="human input",
            about=answer,
            enter=self.ongoing.enter,
            encode=partial(_encode_review, work, self.ongoing),
        )
        usage.add(handled["usage"])
        final_messages = cast("list[Message]", handled["said"])
        if final_messages and final_messages[-1]["role"] == "assistant":
            final_messages = final_messages[:-1]
        return handled["answer"], final_messages


def _set_up(provider: HumanInputProvider, work: ExecutorContext) -> list[Message]:
    if not call(provider.setup_messages, work):
        call(provider.post_setup_messages, work)
    return work.current_messages


def _encode_review(work: ExecutorContext, ongoing: OngoingTask, finish: object) -> dict[str, object]:
    answer = getattr(finish, "output", finish)
    return {"answer": str(answer), "said": work.current_messages, "usage": ongoing.usage.to_plain()}
