"""Cancellation. An abandoned run stops before its next effect: nothing new starts, and nothing finished is lost.

Threads cannot be cancelled. `giving_up` and `when_given_up` notify their work that its result is no longer awaited. A
thread's work for an async run happens whether the run is cancelled or not, so the cancellation waits until it is recorded:
`Underway` for an effect, `Cancellation` for the methods of a flow.

Servers and workers execute runs of others: these are *supervised*. What is awaited as an effect of such a run ends in the same
way, and nothing that user code raises ends more than its run.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from contextvars import Token
from traceback import walk_tb
from typing import Any, NoReturn

from crewgraph.core.current import CURRENT, Current
from crewgraph.errors import HookAborted, RunError
from crewgraph.scoped import give_back, scoped
from crewgraph.tracebacks import raised_by_signal


class RunAbandoned(BaseException):
    """Raised inside an abandoned run; no `except Exception` catches it."""

    def __init__(self) -> None:
        super().__init__("the run was abandoned: its stream was closed, or the enclosing run was cancelled")


def check_cancelled() -> None:
    """Raise if the current run is abandoned.

    Raises:
        RunAbandoned: the run is abandoned.
    """
    left = CURRENT.get().abandoned
    if left is not None and left():
        raise RunAbandoned


class Cancellation:
    """Whether an async run was cancelled while threads worked for it; runs that they start stop before their next effect."""

    def __init__(self) -> None:
        self.is_requested = False
        self.reason: tuple[Any, ...] = ()
        """What `asyncio.CancelledError` carried first: LangGraph's server knows its own cancellations by it."""

        self._around: Callable[[], bool] | None = None

    def request(self, *reason: Any) -> None:
        """Note that the run was cancelled."""
        self.is_requested, self.reason = True, self.reason or reason

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

    def begin(self) -> Token[Current]:
        """Abandon runs started from now on in this context together with this run.

        Returns:
            the token for `give_back`.
        """
        here = CURRENT.get()
        if here.abandoned is not self:
            self._around = here.abandoned
        return CURRENT.set(here._replace(abandoned=self))


class Underway(Cancellation):
    """The effect that an async run performs, whose work delays a cancellation.

    The code that records the effect then raises `asyncio.CancelledError`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.works = 0
        """Number of threads and tasks that work for it."""

        self.is_given_up = False
        """Whether its time is up, so that its result is discarded."""

        self._pauses: list[Callable[[], None]] = []

    def request(self, *reason: Any) -> None:
        """Note that the run was cancelled, and end the pauses of the effect."""
        super().request(*reason)
        for end in self._pauses:
            end()

    @contextmanager
    def pausing(self, end: Callable[[], None]) -> Generator[None]:
        """Enclose a wait of the effect before a request is sent, which a cancellation ends at once.

        Args:
            end: ends the wait.

        Raises:
            asyncio.CancelledError: the run was cancelled.
        """
        self._pauses.append(end)
        try:
            if not self.is_requested:
                yield
        finally:
            self._pauses.remove(end)
        if self.is_requested:
            raise asyncio.CancelledError(*self.reason)


class ExitRequested(BaseException):
    """User code in a supervised run raised what would end the process, or cancelled itself; no `except Exception` catches it."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(f"{type(cause).__name__}: {cause}".removesuffix(": "))
        self.__cause__ = cause

    @property
    def error(self) -> RunError:
        """The error that the run fails with; the notes say where it was raised."""
        notes = [*getattr(self.__cause__, "__notes__", ()), *getattr(self, "__notes__", ())]
        places = [note for note in notes if note.startswith("in ")]
        failure = RunError(
            f"`{self}` was raised{' ' if places else ''}{', '.join(places)}. It ends this run, not the server or worker; report "
            "errors with a subclass of `Exception`."
        )
        failure.__cause__ = self.__cause__
        return failure


class Supervision:
    """Runs that a server or a worker executes for others.

    Args:
        on_progress: called, in any thread, for each effect that was recorded and each method that has ended.
    """

    def __init__(self, on_progress: Callable[[], object] | None = None) -> None:
        self.on_progress = on_progress
        self.is_cut = False
        """Whether a cancellation also cancels what is awaited as an effect, instead of waiting until it has ended."""


def report_progress() -> None:
    """Tell who supervises the current run that it has made progress."""
    supervision = CURRENT.get().supervision
    if supervision is not None and supervision.on_progress is not None:
        supervision.on_progress()


@contextmanager
def supervised(supervision: Supervision) -> Generator[None]:
    """Supervise the runs in a block, on this event loop."""
    _SupervisedTasks.make(asyncio.get_running_loop())
    with scoped(CURRENT, CURRENT.get()._replace(supervision=supervision)):
        yield


class _SupervisedTasks:
    """Makes the tasks of an event loop: those of supervised runs do not end the loop, whoever starts them.

    asyncio raises a SystemExit or KeyboardInterrupt of a task out of the loop, too, so that all its other tasks are cancelled.
    """

    def __init__(self, around: "Callable[..., Any] | None") -> None:
        self._make: Callable[..., Any] = around or _task

    @classmethod
    def make(cls, loop: asyncio.AbstractEventLoop) -> None:
        """Let it make the tasks of a loop from now on."""
        factory: Any = loop.get_task_factory()
        if not isinstance(factory, cls):
            loop.set_task_factory(cls(factory))

    def __call__(self, loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> Any:
        context = options.get("context")
        current = CURRENT.get() if context is None else context.get(CURRENT, _NOTHING)
        return self._make(loop, work if current.supervision is None else _Contained(work), **options)


_NOTHING = Current()


def _task(loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> "asyncio.Task[Any]":
    return asyncio.Task(work, loop=loop, **options)


class _Contained(Coroutine[Any, Any, Any]):
    """A coroutine that raises ExitRequested for what would end the event loop."""

    def __init__(self, work: Coroutine[Any, Any, Any]) -> None:
        self._work = work

    def __getattr__(self, name: str) -> Any:  # such as `cr_frame`, for those who show tasks
        return getattr(self._work, name)

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._work.__await__()

    def send(self, value: Any) -> Any:
        try:
            return self._work.send(value)
        except (SystemExit, KeyboardInterrupt) as error:
            _raise_contained(error)

    def throw(self, *error: Any) -> Any:
        try:
            return self._work.throw(*error)
        except (SystemExit, KeyboardInterrupt) as raised:
            _raise_contained(raised)

    def close(self) -> None:
        self._work.close()


def _raise_contained(error: BaseException) -> NoReturn:
    if raised_by_signal(error):
        raise error
    raise ExitRequested(error) from error


def abandon() -> None:
    """Stop the threads of the enclosing run before their next effect."""
    if isinstance(left := CURRENT.get().abandoned, Cancellation):
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


@contextmanager
def giving_up() -> Generator[None]:
    """Notify the threads that a block starts, in copies of its context, when the block fails."""
    given_up = GivenUp()
    with when_given_up(given_up.notify):
        token = CURRENT.set(CURRENT.get()._replace(given_up=given_up))
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
    with scoped(CURRENT, CURRENT.get()._replace(given_up=given_up)):
        yield given_up.notify


@contextmanager
def when_given_up(listener: Callable[[], None]) -> Generator[None]:
    """Call a listener, from another thread, when the result of this block's thread is no longer awaited."""
    given_up = CURRENT.get().given_up
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
