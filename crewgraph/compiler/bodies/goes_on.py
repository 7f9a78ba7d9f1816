"""A conversation of an agent's that somebody goes on with, outside of the task's own way."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from crewgraph.compiler.agent_report import AgentReport
from crewgraph.compiler.bodies.agent import AgentAtWork
from crewgraph.compiler.bodies.dialogue import Dialogue
from crewgraph.compiler.engagement import Engagement
from crewgraph.core.effects import Body
from crewgraph.core.messages import Message
from crewgraph.definitions.task import Task
from crewgraph.llm.conversation import openai_messages
from crewgraph.llm.usage import UsageLedger
from crewgraph.prompts.book import Book

__all__ = ["goes_on"]


def goes_on(
    engagement: Engagement, task: Task | None, said: Sequence[Message], _: Mapping[str, Any]
) -> Body[dict[str, Any]]:
    """Work from what was said to an answer.

    Args:
        engagement: who works, with which tools.
        task: on what.
        said: the conversation so far.

    Returns:
        as the channel of the agent's node: the `answer`, what was `said` with it, the same as `messages` in the form that
        OpenAI's clients use, and the `usage`.
    """
    book, role, usage = engagement.book, engagement.agent.written("role"), UsageLedger()
    at_work = AgentAtWork(engagement, role, AgentReport(engagement, task), usage, book, task)
    dialogue = Dialogue(partial(_begun, said, book), "")
    yield from at_work.equipped()
    answer = yield from at_work.in_time(partial(at_work.replied, dialogue), said)
    dialogue.add({"role": "assistant", "content": answer})
    told = list(dialogue.transcript.messages)
    done = {"answer": answer, "said": told, "messages": openai_messages(told), "usage": usage.to_plain()}
    return {engagement.slug: done}


def _begun(said: Sequence[Message], book: Book, _: str, done: str) -> Sequence[Message]:
    if not done:
        return said
    return [*said, {"role": "user", "content": book.slice("summary", merged_summary=done)}]
