"""Reviews of answers of tasks with `human_input` by a provider, and input from the terminal."""

import builtins
import os
import select
import selectors
import stat
import sys
import threading
from collections.abc import Sequence
from contextvars import ContextVar, Token
from inspect import isbuiltin
from typing import Any, Literal, Protocol, runtime_checkable

from crewgraph.compiler.agent.binding import AgentBinding
from crewgraph.compiler.agent.models import llm_of
from crewgraph.core.current import CURRENT
from crewgraph.core.loops.bridge import acall
from crewgraph.core.messages import Message
from crewgraph.core.operations import Do, Program, adrive, drive, user_call
from crewgraph.definitions.agent.last_run import AgentFinish
from crewgraph.definitions.task.task import TaskDefinition
from crewgraph.llm.conversation import openai_messages, read_messages
from crewgraph.observe.progress import without_progress
from crewgraph.prompts.i18n import default_book
from crewgraph.schema import PlainMapping
from crewgraph.scoped import give_back
from crewgraph.text import printable

_CHUNK = 4096

_terminal_lock = threading.Lock()
"""Serializes questions: parallel runs must not read each other's answers."""


def who_answers() -> Literal["person", "lines"] | None:
    """Return who would answer a question here: a person at a terminal, the lines of a pipe or file, or nobody.

    A person also answers where `input` was replaced, as notebooks do. Questions of supervised runs stay pending: the terminal
    belongs to the server or the worker.
    """
    if CURRENT.get().supervision is not None:
        return None
    if _is_input_replaced():
        return "person"
    try:
        if sys.stdin.isatty():
            return "person"
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (AttributeError, OSError, ValueError):  # closed, or replaced by an object without a file
        return None
    return "lines" if stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode) else None


def has_terminal() -> bool:
    """Return whether a person can be asked here."""
    return who_answers() == "person"


def has_lines() -> bool:
    """Return whether reading a line from a pipe or file would not wait: there are lines, or it ends."""
    if not isbuiltin(builtins.input) or who_answers() != "lines":  # a kernel's `input` does not read them
        return False
    if sys.platform == "win32":  # which cannot tell of a pipe
        return False
    waiting = select.poll()  # `select.select` is limited to file descriptors below 1024
    waiting.register(sys.stdin, select.POLLIN)
    return bool(waiting.poll(0))


def _is_input_replaced() -> bool:
    if isbuiltin(builtins.input) or builtins.input.__module__ == _BLOCKING_GUARD:
        return False
    # A kernel knows whether its frontend lets people type; without one (`nbconvert`), asking would be an error.
    return getattr(getattr(builtins.input, "__self__", None), "_allow_stdin", True)


_BLOCKING_GUARD = "blockbuster.blockbuster"
"""The module that wraps `input` in LangGraph's development server, to find blocking calls; there is no terminal in it."""


def ask_at_terminal(prompt: str) -> str:
    """Print a prompt and return the line that is typed.

    Raises:
        EOFError: the terminal was closed.
    """
    with _terminal_lock, without_progress():
        try:
            return input(printable(prompt))  # may contain text of a model
        except EOFError:
            raise EOFError("the question was not answered: the input ended, as after Ctrl-D") from None


def read_line(prompt: str, seconds: float) -> str | None:
    """Return the typed line; None after the timeout.

    On Windows, and where `input` was replaced, this waits without a limit.

    Raises:
        EOFError: the terminal was closed.
    """
    with without_progress():
        if sys.platform == "win32" or _is_input_replaced():
            return input(printable(prompt))
        print(printable(prompt), end="", flush=True)  # noqa: T201 - a question at the terminal
        terminal = sys.stdin.fileno()
        with selectors.DefaultSelector() as selector:  # `select.select` is limited to file descriptors below 1024
            selector.register(terminal, selectors.EVENT_READ)
            ready = selector.select(max(seconds, 0))
        if not ready:
            print(flush=True)  # noqa: T201
            return None
        # A terminal returns whole lines. Not through `sys.stdin`, whose read-ahead a selector does not see.
        line = os.read(terminal, _CHUNK)
        if not line:
            raise EOFError(f"the terminal was closed while `{prompt.strip()}` was asked")
        return line.decode(sys.stdin.encoding or "utf-8", "replace").rstrip("\r\n")


class ExecutorContext:
    """An agent's work on a task, as it is passed to a provider.

    Args:
        binding: the agent and its tools.
        task: the task.
        messages: the conversation so far.
    """

    def __init__(self, binding: AgentBinding, task: TaskDefinition, messages: Sequence[Message]) -> None:
        self._binding = binding
        self.task, self.crew, self.agent = task, binding.crew, binding.agent
        self.llm: Any = llm_of(binding.agent)
        self.messages: list[Any] = openai_messages(messages)
        """The conversation; messages added to it are part of the conversation when it continues."""

        self.ask_for_human_input = bool(task.human_input)
        """Whether the answer is to be reviewed."""

    @property
    def current_messages(self) -> list[Message]:
        """The messages as they are now.

        Raises:
            ModelError: one of them is not a message.
        """
        return read_messages(self.messages)

    def _invoke_loop(self) -> AgentFinish:
        """Continue with `messages` to another answer, which is appended to them."""
        agent: Any = self.agent  # a `BaseAgent`, which can run
        return self._finish(agent._next_answer(self._binding, self.task, self.current_messages))

    async def _ainvoke_loop(self) -> AgentFinish:
        """Async version of `_invoke_loop`."""
        agent: Any = self.agent
        return self._finish(await agent._anext_answer(self._binding, self.task, self.current_messages))

    def _is_training_mode(self) -> bool:
        """Return False: trainings ask by themselves."""
        return False

    def _format_feedback_message(self, feedback: str) -> dict[str, str]:
        """Return the message with the feedback for the agent."""
        text = self._binding.book.slice("human_feedback", human_feedback=feedback)
        return {"role": "user", "content": text}

    def _finish(self, result: PlainMapping) -> AgentFinish:
        self.messages[:] = result["messages"]
        answer: str = result["answer"]
        return AgentFinish(thought="", output=answer, text=answer)


AsyncExecutorContext = ExecutorContext
"""Its name in async methods."""


@runtime_checkable
class HumanInputProvider(Protocol):
    """Reviews answers in place of a person at the terminal; its results are recorded with the run."""

    def setup_messages(self, context: ExecutorContext) -> bool:
        """Called when an agent starts a task; return True if `context.messages` now holds its opening messages."""
        ...

    def post_setup_messages(self, context: ExecutorContext) -> None:
        """Called with the opening messages if `setup_messages` returned False; they may be changed."""
        ...

    def handle_feedback(self, formatted_answer: AgentFinish, context: ExecutorContext) -> AgentFinish:
        """Return the accepted answer: the given one, or one from continuing the work."""
        ...

    async def handle_feedback_async(self, formatted_answer: AgentFinish, context: AsyncExecutorContext) -> AgentFinish:
        """Async version of `handle_feedback`."""
        ...


class SyncHumanInputProvider(HumanInputProvider):
    """Asks at the terminal until an empty line accepts the answer."""

    def setup_messages(self, context: ExecutorContext) -> bool:
        """Leave the messages as they are."""
        return False

    def post_setup_messages(self, context: ExecutorContext) -> None:
        """Leave the messages as they are."""

    def handle_feedback(self, formatted_answer: AgentFinish, context: ExecutorContext) -> AgentFinish:
        """Return the answer that is accepted at the terminal.

        Raises:
            EOFError: the terminal was closed.
        """
        return drive(self._review(formatted_answer, context))

    async def handle_feedback_async(self, formatted_answer: AgentFinish, context: AsyncExecutorContext) -> AgentFinish:
        """Async version; a subclass that only overrides `handle_feedback` runs that in a thread."""
        if type(self).handle_feedback is not SyncHumanInputProvider.handle_feedback:
            return await acall(self.handle_feedback, formatted_answer, context)
        return await adrive(self._review(formatted_answer, context))

    def _review(self, answer: AgentFinish, context: Any) -> Program[AgentFinish]:
        while feedback := (yield user_call(self._prompt_input, context.crew, answer)).strip():
            context.messages.append(context._format_feedback_message(feedback))
            answer = yield Do(context._invoke_loop, context._ainvoke_loop)
        context.ask_for_human_input = False
        return answer

    @staticmethod
    def _prompt_input(crew: Any, answer: AgentFinish | None = None) -> str:
        output = "" if answer is None else answer.output
        book = default_book() if crew is None else crew.texts.book
        return ask_at_terminal(book.slice("getting_input", final_answer=output) + "\n")


_provider: ContextVar[HumanInputProvider | None] = ContextVar("crewgraph_human_input_provider", default=None)

_at_terminal = SyncHumanInputProvider()


def get_provider() -> HumanInputProvider:
    """Return the provider in use: the one that was set, else the terminal."""
    return _provider.get() or _at_terminal


def configured_provider() -> HumanInputProvider | None:
    """Return the provider that was set; None where the run asks by itself."""
    return _provider.get()


def set_provider(provider: HumanInputProvider) -> "Token[HumanInputProvider | None]":
    """Set the provider for tasks with `human_input`, in runs started in this context.

    Returns:
        a token for `reset_provider`.
    """
    return _provider.set(provider)


def reset_provider(token: "Token[HumanInputProvider | None]") -> None:
    """Restore the provider from before `set_provider` returned the token."""
    give_back(token)
