"""Who looks at the answers of tasks with `human_input`, where it is not somebody at the terminal or elsewhere.

The terminal that somebody sits at, where there is one.
"""

import builtins
import os
import selectors
import sys
import threading
from collections.abc import Mapping, Sequence
from contextvars import ContextVar, Token
from inspect import isbuiltin
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from crewgraph.compiler.agent.binding import AgentBinding
from crewgraph.core.loops.bridge import in_thread
from crewgraph.core.messages import Message
from crewgraph.definitions.agent.last_run import AgentFinish
from crewgraph.definitions.task.task import Task
from crewgraph.lazy import lazy
from crewgraph.llm.conversation import openai_messages, read_messages
from crewgraph.prompts.book import english
from crewgraph.text import printable

if TYPE_CHECKING:
    from crewgraph.runtime.agent.standalone import ago_on, go_on
else:
    ago_on = lazy("crewgraph.runtime.agent.standalone:ago_on")
    go_on = lazy("crewgraph.runtime.agent.standalone:go_on")

__all__ = [
    "AsyncExecutorContext",
    "ExecutorContext",
    "HumanInputProvider",
    "SyncHumanInputProvider",
    "WorkInReview",
    "ask_at_terminal",
    "configured_provider",
    "get_provider",
    "has_terminal",
    "read_line",
    "reset_provider",
    "set_provider",
]


_CHUNK = 4096

_turn = threading.Lock()
"""Whose turn it is to ask: runs beside each other must not read each other's answers."""


def has_terminal() -> bool:
    """Whether somebody can be asked here: at a terminal, or where `input` was replaced, as notebooks do."""
    if _is_replaced():
        return True
    try:
        return sys.stdin is not None and sys.stdin.isatty()
    except ValueError:  # it was closed
        return False


def _is_replaced() -> bool:
    # A kernel knows whether its frontend lets people type; without one (`nbconvert`), asking would be an error.
    return not isbuiltin(builtins.input) and getattr(getattr(builtins.input, "__self__", None), "_allow_stdin", True)


def ask_at_terminal(prompt: str) -> str:
    """The line that somebody types.

    Raises:
        EOFError: the terminal was closed.
    """
    with _turn:
        return input(printable(prompt))  # models have written a part of it


def read_line(prompt: str, seconds: float) -> str | None:
    """The line that somebody types; None where nothing is complete after some seconds.

    On Windows, and where `input` was replaced, it waits for as long as it takes.

    Raises:
        EOFError: the terminal was closed.
    """
    if sys.platform == "win32" or _is_replaced():
        return input(prompt)
    print(prompt, end="", flush=True)  # noqa: T201 - a question to whoever sits there
    terminal = sys.stdin.fileno()
    with selectors.DefaultSelector() as waiting:  # `select.select` knows the first 1024 files of a process alone
        waiting.register(terminal, selectors.EVENT_READ)
        ready = waiting.select(max(seconds, 0))
    if not ready:
        print(flush=True)  # noqa: T201
        return None
    # A terminal hands out whole lines. Not through `sys.stdin`: what it had read ahead could not be waited for.
    line = os.read(terminal, _CHUNK)
    if not line:
        raise EOFError(f"the terminal was closed while `{prompt.strip()}` was asked")
    return line.decode(sys.stdin.encoding or "utf-8", "replace").rstrip("\r\n")


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
        return ask_at_terminal(book.slice("getting_input", final_answer=shown) + "\n")


_provider: ContextVar[HumanInputProvider | None] = ContextVar("crewgraph_human_input_provider", default=None)

_at_terminal = SyncHumanInputProvider()


def get_provider() -> HumanInputProvider:
    """Who looks at answers: whoever was given, else somebody at the terminal."""
    return _provider.get() or _at_terminal


def configured_provider() -> HumanInputProvider | None:
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

    def __init__(self, engagement: AgentBinding, task: Task, messages: Sequence[Message]) -> None:
        self._binding = engagement
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
        return self._noted(go_on(self._binding, self.task, self.said))

    async def _ainvoke_loop(self) -> AgentFinish:
        """The same on an event loop."""
        return self._noted(await ago_on(self._binding, self.task, self.said))

    def _is_training_mode(self) -> bool:
        """False: trainings ask by themselves."""
        return False

    def _format_feedback_message(self, feedback: str) -> dict[str, str]:
        """The message that tells the agent what somebody says of its answer."""
        told = self._binding.book.slice("human_feedback", human_feedback=feedback)
        return {"role": "user", "content": told}

    def _noted(self, done: Mapping[str, Any]) -> AgentFinish:
        self.messages[:] = done["messages"]
        answer = cast(str, done["answer"])
        return AgentFinish(thought="", output=answer, text=answer)
