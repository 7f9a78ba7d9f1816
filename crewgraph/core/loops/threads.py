"""Threads and event loops of our own.

All are daemons: no call that hangs, and that nobody awaits any longer, keeps the process alive. At its end, the interpreter waits
for the calls that are awaited.
"""

import asyncio
import gc
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine
from concurrent import futures
from concurrent.futures import Executor, Future
from contextvars import copy_context
from functools import partial, wraps
from math import inf
from queue import SimpleQueue
from types import FrameType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from crewgraph.core.cancellation import abandon, when_given_up
from crewgraph.core.current import CURRENT
from crewgraph.tracebacks import raised_by_signal

if TYPE_CHECKING:
    from crewgraph.core.claims import ThreadClaim


P = ParamSpec("P")
T = TypeVar("T")

_SIGNALS = [signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGALRM") if hasattr(signal, name)]
_PAUSE = 0.001
_POLL_INTERVAL = 0.1  # seconds

PATIENCE = 5.0
"""Seconds that an interrupted run waits for its threads: a tool that never ends must not keep the process alive."""


def start_loop(name: str) -> asyncio.AbstractEventLoop:
    """A loop that runs for as long as the process does.

    Args:
        name: the thread's name.
    """
    if _Collector.on_phase not in gc.callbacks:
        gc.callbacks.append(_Collector.on_phase)
    loop = asyncio.new_event_loop()
    uninterrupted(threading.Thread(target=_run_forever, args=[loop], name=name, daemon=True).start)()
    return loop


def _run_forever(loop: asyncio.AbstractEventLoop) -> None:
    ended = False
    while not ended:
        loop.call_soon(_close_what_was_collected, loop)  # a loop puts its own hooks in place as it begins to run
        try:
            loop.run_forever()
            ended = True
        except (SystemExit, KeyboardInterrupt):
            pass  # raised by a task, which tells who awaits it; the other tasks continue


class _Collector:
    """Tracks whether the garbage collector is running, on any thread."""

    busy = False

    @staticmethod
    def on_phase(phase: str, _: dict[str, int]) -> None:
        _Collector.busy = phase == "start"


def _close_what_was_collected(loop: asyncio.AbstractEventLoop) -> None:
    """Close unreachable async generators only after the collector has visited all it found.

    A stream that is abandoned midway leaves a cluster of nested generators. Otherwise the loop starts to close the outermost one
    while the collector, on another thread, still visits the inner ones, finds them running and reports a ValueError.
    """
    hooks = sys.get_asyncgen_hooks()
    close = hooks.finalizer
    assert close is not None

    def finalize(left: AsyncGenerator[object, object]) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(later, left)

    def later(left: AsyncGenerator[object, object]) -> None:
        if _Collector.busy:
            loop.call_later(_PAUSE, later, left)
        else:
            close(left)

    sys.set_asyncgen_hooks(hooks.firstiter, finalize)


def uninterrupted(function: Callable[P, T]) -> Callable[P, T]:
    """Let a Ctrl-C, SIGTERM or SIGALRM wait until a function has ended, if the program's handlers might raise an exception.

    In the middle of it, they would leave a change half made, or a lock held: a thread whose start is interrupted may wait
    forever, and the end of the process with it.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        if threading.current_thread() is not threading.main_thread():  # signals are handled there
            return function(*args, **kwargs)
        handlers = {number: handler for number in _SIGNALS if callable(handler := signal.getsignal(number))}
        came: list[int] = []
        is_ended = False

        def note(number: int, frame: FrameType | None) -> None:
            if is_ended:
                handlers[signal.Signals(number)](number, frame)
            else:
                came.append(number)

        try:
            for number in handlers:
                signal.signal(number, note)
            return function(*args, **kwargs)
        finally:
            is_ended = True
            for number, handler in handlers.items():
                signal.signal(number, handler)
            for number in came:
                # Not raised again: an event loop already has it from its wakeup descriptor.
                handlers[signal.Signals(number)](number, None)

    return call


class ThreadPool(Executor):
    """Daemon threads for blocking calls, which see the context of their `submit`; threads that are idle are used again.

    At its end, the interpreter waits for the calls, but for those that are left: a call that hangs does not keep the process.
    If an interruption is raised in place of the future, the call either runs or was never accepted.

    Args:
        most: the maximum number of threads; None for as many as there are calls at once.
        name: the prefix of their names.
    """

    def __init__(self, most: int | None, name: str) -> None:
        self._threads = _Threads(most, name)
        self._calls = set[Future[Any]]()

        self._process = os.getpid()

    def __del__(self) -> None:
        if "_threads" in vars(self):  # an interruption may come while it is made
            self._threads.end()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a function in a thread."""
        work = Future[T]()
        call = partial(_perform_call, work, partial(copy_context().run, fn, *args, **kwargs))
        is_forked = os.getpid() != self._process  # it has none of the pool's threads
        try:
            self._begin(work, None if is_forked else call)
            if is_forked:
                call()()
        except BaseException:
            if work in self._calls:
                leave([work])
            raise
        return work

    @uninterrupted
    def _begin(self, work: Future[Any], call: "_Call | None") -> None:
        self._calls.add(work)
        work.add_done_callback(self._calls.discard)
        _exit.wait_for(work)
        if (given_up := CURRENT.get().given_up) is not None:
            listener = partial(leave, [work])
            work.add_done_callback(lambda _: given_up.remove(listener))
            given_up.add(listener)
        if call is not None:
            self._threads.take(call)

    def unfinished(self) -> list[Future[Any]]:
        """Return the calls that have not ended, begun or not."""
        return list(self._calls)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no further calls."""
        self._threads.end()
        if cancel_futures:
            for work in self.unfinished():
                work.cancel()
        if wait:
            futures.wait(self.unfinished())


_Call = Callable[[], Callable[[], None]]


class _Threads:
    """The threads of a pool, which do not refer to it."""

    def __init__(self, most: int | None, name: str) -> None:
        self._most, self._name = most, name
        self._lock = threading.RLock()  # the garbage collector may end the pool anywhere
        self._waiting = deque[_Call]()
        self._idle: list[SimpleQueue[_Call | None]] = []
        self._started = 0
        self._is_ended = False

    def take(self, call: _Call) -> None:
        with self._lock:
            if self._is_ended:
                raise RuntimeError(f"the pool `{self._name}` is shut down")
            if self._idle:
                self._idle.pop().put(call)
                return
            if self._most is not None and self._started >= self._most:
                self._waiting.append(call)
                return
            number = self._started
            self._started += 1
        calls = SimpleQueue[_Call | None]()
        calls.put(call)  # as an argument, the thread would keep it alive
        thread = threading.Thread(target=self._work, args=[calls], name=f"{self._name}_{number}", daemon=True)
        try:
            thread.start()
        except BaseException:
            if thread.ident is None:  # it was not even begun
                self._started -= 1
            raise

    def _work(self, calls: "SimpleQueue[_Call | None]") -> None:
        call = calls.get()
        while call is not None:
            report = call()
            call = None  # an idle thread keeps nothing alive
            with self._lock:
                is_last = not self._waiting and self._is_ended
                if self._waiting:
                    call = self._waiting.popleft()
                elif not is_last:
                    self._idle.append(calls)
            report()  # only now, so that who submits the next call finds a thread that is idle
            del report
            if call is None and not is_last:
                call = calls.get()

    def end(self) -> None:
        with self._lock:
            self._is_ended = True
            while self._idle:
                self._idle.pop().put(None)


def _perform_call(work: Future[T], call: Callable[[], T]) -> Callable[[], None]:
    """Perform a call, and return what reports its result."""
    try:
        if not work.set_running_or_notify_cancel():
            return _report_nothing
        return partial(work.set_result, call())
    except BaseException as error:  # noqa: BLE001 - raised by `result`
        return partial(work.set_exception, error)
    finally:
        del work, call  # the exception refers to this frame


def _report_nothing() -> None:
    pass


def leave(calls: "Collection[Future[Any]]", seconds: float = 1.0) -> None:
    """Let the interpreter end without these calls, of which nobody awaits the results any longer.

    Args:
        calls: the futures of calls.
        seconds: how long from now it still waits for them if it ends.
    """
    for call in calls:
        _exit.wait_for(call, time.monotonic() + seconds)


class _Exit:
    """Delays the end of the interpreter by one thread that is no daemon, which waits for the calls of the daemons."""

    def __init__(self) -> None:
        self.renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.renew)

    def renew(self) -> None:
        """Begin anew, in a forked process: the threads are the parent's."""
        self._lock = threading.Lock()
        self._is_watched = False
        self._until: dict[Future[Any], float] = {}

    def wait_for(self, call: Future[Any], until: float = inf) -> None:
        """Wait for a call when the interpreter ends, no longer than until a time on the monotonic clock."""
        known = self._until.get(call)
        self._until[call] = until if known is None else min(known, until)
        if known is None:
            call.add_done_callback(self._forget)
        elif call.done():
            self._forget(call)
        if not self._is_watched:
            with self._lock:
                if not self._is_watched:
                    self._is_watched = True
                    threading.Thread(target=self._watch, name="crewgraph-exit").start()

    def _forget(self, call: Future[Any]) -> None:
        self._until.pop(call, None)

    def _watch(self) -> None:
        threading.main_thread().join()
        while (end := max(self._until.copy().values(), default=0.0)) > (now := time.monotonic()):
            futures.wait(self._until.copy(), min(end - now, _POLL_INTERVAL), futures.FIRST_COMPLETED)


_exit = _Exit()


class LoopThread:
    """A loop on which nothing blocks; started on first use, and again after a fork.

    Args:
        name: the thread's name.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def begin(self, work: Coroutine[object, object, T]) -> Future[T]:
        """Start some work in the caller's context without waiting; cancelling the future cancels it."""
        with self._lock:
            if self._loop is None:
                self._loop = start_loop(self._name)
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[object, object, T]) -> T:
        """Run a coroutine on the loop and return its result; blocks this thread, which must not be the loop's."""
        future = self.begin(work)

        def cancel() -> None:
            future.cancel()

        try:
            with when_given_up(cancel):
                return future.result()
        except BaseException:  # also KeyboardInterrupt: the awaited work must not continue alone
            cancel()
            raise

    async def arun(self, work: Coroutine[object, object, T]) -> T:
        """Run a coroutine on the loop and return its result, from any running event loop."""
        return await asyncio.wrap_future(self.begin(work))


def leave_threads(pool: ThreadPool, claim: "ThreadClaim | None") -> None:
    """Wait a while for the calls of a pool after an interruption, and let them begin nothing new.

    Args:
        pool: the pool.
        claim: the claim on the run's thread, which is held until the last of the calls has ended.
    """
    calls = pool.unfinished()
    try:
        leave(calls, PATIENCE)  # at once, for Ctrl-C may come again
    finally:
        abandon()
        for call in calls:
            call.cancel()
    left = futures.wait(calls, PATIENCE).not_done
    pool.shutdown(wait=False, cancel_futures=True)
    if left and claim is not None:
        claim.close_after(left)


def interrupt_in(error: BaseException | None) -> BaseException | None:
    """Return the interruption that an exception is, or that it hides, else None.

    It is Ctrl-C (KeyboardInterrupt), or what the program's handler of another signal raised, such as a time limit.

    A wait for another thread releases a lock. If a signal comes before the wait would acquire it again, `threading` fails to
    release it a second time, and that RuntimeError takes the place of what the handler raised. So does a KeyError, if an
    exception of the program comes while a thread starts.
    """
    if error is None or isinstance(error, KeyboardInterrupt):
        return error
    if (cause := raised_by_signal(error)) is not None:
        return cause
    context, trace = error.__context__, error.__traceback__
    if not (isinstance(error, (RuntimeError, KeyError)) and context and trace):
        return None
    while trace.tb_next:
        trace = trace.tb_next
    return interrupt_in(context) if trace.tb_frame.f_code.co_filename == threading.__file__ else None


def is_interrupted() -> bool:
    """Whether Ctrl-C has cancelled the main task of `asyncio.run`.

    `asyncio.Runner` does not report it; if its handler is not the one of Python 3.11 to 3.14, the answer is False.
    """
    handler: Any = signal.getsignal(signal.SIGINT)
    runner = getattr(getattr(handler, "func", None), "__self__", None)
    return bool(getattr(runner, "_interrupt_count", 0))
