"""Cancellation. An abandoned run stops before its next effect: nothing new starts, and nothing finished is lost.

Threads cannot be cancelled. `giving_up` and `when_given_up` notify their work that its result is no longer awaited. A
thread's work for an async run happens whether the run is cancelled or not, so the cancellation waits until it is recorded:
`Underway` for an effect, `Cancellation` for the methods of a flow.
"""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from traceback import walk_tb

from crewgraph.errors import HookAborted
from crewgraph.scoped import give_back, scoped

__all__ = [
    "ABANDONED",
    "GIVEN_UP",
    "UNDERWAY",
    "Cancellation",
    "GivenUp",
    "RunAbandoned",
    "Underway",
    "abandon",
    "check_cancelled",
    "giving_up",
    "is_control_flow",
    "notifying_later",
    "raised_by_handler",
    "when_given_up",
]


class RunAbandoned(BaseException):
    """Raised inside an abandoned run; no `except Exception` catches it."""

    def __init__(self) -> None:
        super().__init__("the run was abandoned: its stream was closed, or the enclosing run was cancelled")


ABANDONED: ContextVar[Callable[[], bool] | None] = ContextVar("crewgraph_abandoned", default=None)
"""Returns whether the current run is abandoned; None if it cannot be."""


def check_cancelled() -> None:
    """Raise if the current run is abandoned.

    Raises:
        RunAbandoned: the run is abandoned.
    """
    left = ABANDONED.get()
    if left is not None and left():
        raise RunAbandoned


class Cancellation:
    """Whether an async run was cancelled while threads worked for it; runs that they start stop before their next effect."""

    def __init__(self) -> None:
        self.is_requested = False

        self._around: Callable[[], bool] | None = None

    def __call__(self) -> bool:
        return self.is_requested or (self._around is not None and self._around())

    @contextmanager
    def abandoning(self) -> Generator[None]:
        """Abandon runs started in this block, or in threads with a copy of its context, together with this run."""
        token = self.begin()
        try:
            yield
        finally:
            give_back(token)

    def begin(self) -> Token[Callable[[], bool] | None]:
        """Abandon runs started from now on in this context together with this run.

        Returns:
            the token for `give_back`.
        """
        if (around := ABANDONED.get()) is not self:
            self._around = around
        return ABANDONED.set(self)


class Underway:
    """The effect that an async run performs, whose work in threads delays a cancellation."""

    def __init__(self) -> None:
        self.threads = 0
        """Number of threads that work for it."""

        self.is_delayed = False
        """Whether the run was cancelled meanwhile; the code that records the effect then raises `asyncio.CancelledError`."""

        self.is_given_up = False
        """Whether its time is up, so that the results of its threads are discarded."""


UNDERWAY: ContextVar[Underway | None] = ContextVar("crewgraph_underway", default=None)
"""The running effect; None outside of the recorded effects of stored async runs."""


def abandon() -> None:
    """Stop the threads of the enclosing run before their next effect."""
    if isinstance(left := ABANDONED.get(), Cancellation):
        left.is_requested = True


class GivenUp:
    """Whether the results of some threads are still awaited, and the listeners to notify when not."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_notified = False
        self._listeners: dict[int, Callable[[], None]] = {}

    def notify(self) -> None:
        """Call the listeners."""
        with self._lock:
            self._is_notified = True
            listeners = list(self._listeners.values())
        for listener in listeners:
            listener()

    def add(self, listener: Callable[[], None]) -> None:
        """Call a listener, from any thread, when the results are no longer awaited: at once if they are not."""
        with self._lock:
            self._listeners[id(listener)] = listener
            is_notified = self._is_notified
        if is_notified:
            listener()

    def remove(self, listener: Callable[[], None]) -> None:
        """Forget a listener."""
        with self._lock:
            self._listeners.pop(id(listener), None)


GIVEN_UP: ContextVar[GivenUp | None] = ContextVar("crewgraph_given_up", default=None)
"""Whether the result of the running thread is awaited; None if nobody can tell."""


@contextmanager
def giving_up() -> Generator[None]:
    """Notify the threads that a block starts, in copies of its context, when the block fails."""
    given_up = GivenUp()
    with when_given_up(given_up.notify):
        token = GIVEN_UP.set(given_up)
        try:
            yield
        except BaseException:  # also a cancellation
            given_up.notify()
            raise
        finally:
            give_back(token)


@contextmanager
def notifying_later() -> Generator[Callable[[], None]]:
    """Yield the function that notifies the threads that a block starts; they may outlive the block."""
    given_up = GivenUp()
    with scoped(GIVEN_UP, given_up):
        yield given_up.notify


@contextmanager
def when_given_up(listener: Callable[[], None]) -> Generator[None]:
    """Call a listener, from another thread, when the result of this block's thread is no longer awaited."""
    given_up = GIVEN_UP.get()
    if given_up is None:
        yield
        return
    given_up.add(listener)
    try:
        yield
    finally:
        given_up.remove(listener)


def raised_by_handler(error: BaseException) -> bool:
    """Whether a callback handler of LangChain raised an exception: one with `raise_error`, which is to end the run."""
    return any(
        frame.f_code.co_name in _HANDLING and frame.f_globals.get("__name__") == "langchain_core.callbacks.manager"
        for frame, _ in walk_tb(error.__traceback__)
    )


_HANDLING = {"handle_event", "_ahandle_event_for_handler"}


def is_control_flow(error: BaseException) -> bool:
    """Whether nothing may handle an exception: a hook's deny, or LangGraph's control flow, such as an interrupt.

    LangGraph's is checked without importing it.
    """
    return isinstance(error, HookAborted) or any(
        c.__name__ == "GraphBubbleUp" and c.__module__ == "langgraph.errors" for c in type(error).__mro__
    )
