"""What a `HumanInputProvider` does for an agent at work: it is shown the beginning, and the answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from crewgraph.compiler.engagement import Engagement
from crewgraph.compiler.human_input import HumanInputProvider, WorkInReview
from crewgraph.compiler.ongoing import OngoingTask
from crewgraph.core.effects import Body, Call
from crewgraph.core.messages import Message
from crewgraph.definitions.step import AgentFinish
from crewgraph.definitions.task import Task
from crewgraph.llm.usage import UsageLedger

__all__ = ["Reviewer"]


@dataclass(frozen=True, kw_only=True)
class Reviewer:
    """A provider, and the work that it looks at."""

    provider: HumanInputProvider
    engagement: Engagement
    task: Task
    ongoing: OngoingTask
    """The same work, for what is used while the provider looks at it."""

    def begins(self, messages: Sequence[Message]) -> Body[list[Message]]:
        """What the agent begins with, where the provider has its say."""
        work = WorkInReview(self.engagement, self.task, messages)
        begun: list[Message] = yield Call(
            function=partial(_set_up, self.provider, work),
            name="setup_messages",
            kind="human input",
            about=self.engagement.slug,
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
        work = WorkInReview(self.engagement, self.task, said)
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
