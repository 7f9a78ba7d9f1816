"""Who looks at the answers of tasks with `human_input`, where it is not somebody at the terminal or elsewhere."""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar, Token
from typing import Any, Protocol, cast, runtime_checkable

from crewgraph.compiler.engagement import Engagement
from crewgraph.compiler.terminal import said_at_terminal
from crewgraph.core.loops.bridge import in_thread
from crewgraph.core.messages import Message
from crewgraph.definitions.door import alone
from crewgraph.definitions.step import AgentFinish
from crewgraph.definitions.task import Task
from crewgraph.llm.conversation import openai_messages, read_messages
from crewgraph.prompts.book import english

__all__ = [
    "AsyncExecutorContext",
    "ExecutorContext",
    "HumanInputProvider",
    "SyncHumanInputProvider",
    "WorkInReview",
    "get_provider",
    "given_provider",
    "reset_provider",
    "set_provider",
]


@runtime_checkable
class ExecutorContext(Protocol):
    """An agent's work, as whoever looks at its answer sees it."""

    task: Any
    """What it works on."""

    crew: Any
    """For whom; None where it works on its own."""

    messages: list[Any]
    """What was said, as OpenAI's dicts: what is added to it is said, too, when the work goes on."""

    ask_for_human_input: bool
    """Whether its answer is to be looked at."""

    llm: Any
    """Its model."""

    agent: Any
    """Who works."""

    def _invoke_loop(self) -> AgentFinish:
        """Go on with `messages`: another answer."""
        ...

    def _is_training_mode(self) -> bool:
        """Whether it is trained."""
        ...

    def _format_feedback_message(self, feedback: str) -> Any:
        """The message that tells the agent what somebody says of its answer."""
        ...


@runtime_checkable
class AsyncExecutorContext(ExecutorContext, Protocol):
    """The same on an event loop."""

    async def _ainvoke_loop(self) -> AgentFinish:
        """Go on with `messages`: another answer."""
        ...


@runtime_checkable
class HumanInputProvider(Protocol):
    """Looks at answers in the place of somebody at the terminal; what it says is recorded with the run."""

    def setup_messages(self, context: ExecutorContext) -> bool:
        """Called when an agent begins with a task: True if `context.messages` now holds what the agent is to begin with."""
        ...

    def post_setup_messages(self, context: ExecutorContext) -> None:
        """Called with the messages that the agent begins with, where `setup_messages` gave none; they may be changed."""
        ...

    def handle_feedback(self, formatted_answer: AgentFinish, context: ExecutorContext) -> AgentFinish:
        """The answer that is accepted: the given one, or what came of going on with the work."""
        ...

    async def handle_feedback_async(self, formatted_answer: AgentFinish, context: AsyncExecutorContext) -> AgentFinish:
        """The same on an event loop."""
        ...


class SyncHumanInputProvider(HumanInputProvider):
    """Asks at the terminal, as often as it takes; an empty line accepts."""

    def setup_messages(self, context: ExecutorContext) -> bool:
        """Leave the messages as they are."""
        return False

    def post_setup_messages(self, context: ExecutorContext) -> None:
        """Leave the messages as they are."""

    def handle_feedback(self, formatted_answer: AgentFinish, context: ExecutorContext) -> AgentFinish:
        """The answer that somebody at the terminal accepts.

        Raises:
            EOFError: the terminal was closed.
        """
        work: Any = context
        while said := self._prompt_input(context.crew, formatted_answer).strip():
            context.messages.append(work._format_feedback_message(said))
            formatted_answer = work._invoke_loop()
        context.ask_for_human_input = False
        return formatted_answer

    async def handle_feedback_async(self, formatted_answer: AgentFinish, context: AsyncExecutorContext) -> AgentFinish:
        """The same, while the event loop goes on; a subclass that says how without one is asked in a thread."""
        if type(self).handle_feedback is not SyncHumanInputProvider.handle_feedback:
            return await in_thread(self.handle_feedback, formatted_answer, context)
        work: Any = context
        while said := (await in_thread(self._prompt_input, context.crew, formatted_answer)).strip():
            context.messages.append(work._format_feedback_message(said))
            formatted_answer = await work._ainvoke_loop()
        context.ask_for_human_input = False
        return formatted_answer

    @staticmethod
    def _prompt_input(crew: Any, answer: AgentFinish | None = None) -> str:
        shown = "" if answer is None else answer.output
        book = english() if crew is None else crew.texts.book
        return said_at_terminal(book.slice("getting_input", final_answer=shown) + "\n")


_provider: ContextVar[HumanInputProvider | None] = ContextVar("crewgraph_human_input_provider", default=None)

_at_terminal = SyncHumanInputProvider()


def get_provider() -> HumanInputProvider:
    """Who looks at answers: whoever was given, else somebody at the terminal."""
    return _provider.get() or _at_terminal


def given_provider() -> HumanInputProvider | None:
    """Who was given to look at answers; None where the run asks as it does by itself."""
    return _provider.get()


def set_provider(provider: HumanInputProvider) -> "Token[HumanInputProvider | None]":
    """Let somebody look at the answers of tasks with `human_input`, in the runs that are started in this context.

    Returns:
        what `reset_provider` takes.
    """
    return _provider.set(provider)


def reset_provider(token: "Token[HumanInputProvider | None]") -> None:
    """Let those look at answers who did before `set_provider` gave the token."""
    _provider.reset(token)


class WorkInReview:
    """An agent's work on a task, as a provider is given it.

    Args:
        engagement: who works, with which tools.
        task: on what.
        messages: what was said.
    """

    def __init__(self, engagement: Engagement, task: Task, messages: Sequence[Message]) -> None:
        self._engagement = engagement
        self.task, self.crew, self.agent = task, engagement.crew, engagement.agent
        self.llm: Any = engagement.agent.llm
        self.messages: list[Any] = openai_messages(messages)
        self.ask_for_human_input = bool(task.human_input)

    @property
    def said(self) -> list[Message]:
        """The messages as they are now.

        Raises:
            ModelError: one of them is no message.
        """
        return read_messages(self.messages)

    def _invoke_loop(self) -> AgentFinish:
        """Go on with `messages`: another answer, which is the last of them afterwards."""
        return self._noted(alone().go_on(self._engagement, self.task, self.said))

    async def _ainvoke_loop(self) -> AgentFinish:
        """The same on an event loop."""
        return self._noted(await alone().ago_on(self._engagement, self.task, self.said))

    def _is_training_mode(self) -> bool:
        """False: trainings ask by themselves."""
        return False

    def _format_feedback_message(self, feedback: str) -> dict[str, str]:
        """The message that tells the agent what somebody says of its answer."""
        told = self._engagement.book.slice("human_feedback", human_feedback=feedback)
        return {"role": "user", "content": told}

    def _noted(self, done: Mapping[str, Any]) -> AgentFinish:
        self.messages[:] = done["messages"]
        answer = cast(str, done["answer"])
        return AgentFinish(thought="", output=answer, text=answer)
