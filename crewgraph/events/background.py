"""The event loop for coroutines of threads that have none.

It runs coroutines that were started without a caller waiting for them.
"""

import asyncio
import atexit
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent import futures
from concurrent.futures import Future
from contextvars import copy_context

from crewgraph.errors import RunError
from crewgraph.events.stream_context import LISTENING
from crewgraph.redaction import redacted_logger


class BackgroundLoop:
    """An event loop that runs on its own daemon thread."""

    loop: asyncio.AbstractEventLoop
    """The loop; it runs."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        started = threading.Event()
        self.loop.call_soon(started.set)
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name="crewgraph-events", daemon=True)
        self._thread.start()
        started.wait()

    def stop(self) -> None:
        """Cancel what still runs, close the loop and wait for the thread to end.

        On the loop's own thread it does not wait: the loop ends at the next `await`.
        """
        self._is_stopped = True
        self.loop.call_soon_threadsafe(self.loop.stop)
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self.loop) as runner:  # leaving it cancels and closes
            while not self._is_stopped:
                try:
                    runner.get_loop().run_forever()
                except (SystemExit, KeyboardInterrupt) as error:  # of one coroutine; the others continue
                    _logger.warning("An event handler raised %r on a thread of its own; the program continues.", error)


_EXIT_TIMEOUT = 10.0  # seconds for running handlers at interpreter exit

_logger = redacted_logger("crewgraph.events")


class PendingWork:
    """Runs coroutines on the caller's event loop, else on a loop in the background, until they are done.

    The loop in the background is started on first use, and again after it was stopped.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._background: BackgroundLoop | None = None
        self.loops: dict[Future[None], asyncio.AbstractEventLoop] = {}
        """The loops of what is not done."""

        self._ends_with_interpreter = False

    def start(self, work: Callable[[], Coroutine[object, object, None]], label: str) -> Future[None]:
        """Begin a coroutine with a copy of the caller's context.

        Args:
            work: makes the coroutine, on the loop that runs it.
            label: its purpose, for messages.

        Returns:
            A future that is done when the coroutine is; it cannot be cancelled.
        """
        done: Future[None] = Future()
        done.set_running_or_notify_cancel()
        if (here := _running_loop()) is not None:
            self.loops[done] = here
            self._launch(done, work, label)
            return done
        with self._lock:  # so that the loop is not stopped before it has the call
            if self._background is None:
                self._background = BackgroundLoop()
            if not self._ends_with_interpreter:
                self._ends_with_interpreter = True
                atexit.register(self._end)
            loop = self.loops[done] = self._background.loop
            loop.call_soon_threadsafe(self._launch, done, work, label, context=copy_context())
        return done

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all is done.

        Args:
            timeout: how long to wait at most, in seconds; None sets no bound.

        Returns:
            Whether all is done. False also where something waits on an event loop that does not run.

        Raises:
            RunError: something runs on this thread's own event loop, which would never come to it.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        here = _running_loop()
        while loops := self._unfinished():
            if here is not None and here in loops.values():
                raise RunError(
                    "`flush()` would wait for event handlers that run on this thread's own event loop. "
                    "Use `await bus.aflush()` in a coroutine."
                )
            moving = [done for done, loop in loops.items() if loop.is_running()]
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if len(moving) < len(loops) or futures.wait(moving, left).not_done:
                return False
        return True

    async def aflush(self) -> None:
        """Wait until all is done but the work that waits."""
        while pending := [done for done in self._unfinished() if done is not LISTENING.get().handled]:
            await asyncio.wait([asyncio.wrap_future(done) for done in pending])

    def stop(self) -> None:
        """Cancel what still runs in the background and end that loop."""
        with self._lock:
            background, self._background = self._background, None
        if background is not None:
            background.stop()

    def after_fork(self) -> None:
        """Start afresh in a forked process, where no other thread and no emission is left."""
        self._lock = threading.RLock()
        self._background = None
        self.loops = {}

    def _launch(self, done: Future[None], work: Callable[[], Coroutine[object, object, None]], label: str) -> None:
        async def run() -> None:
            LISTENING.set(LISTENING.get()._replace(handled=done))
            await work()

        def finish(task: asyncio.Task[None]) -> None:
            self.loops.pop(done, None)
            if task.cancelled():
                _logger.warning(_CUT_OFF, label)
                done.set_result(None)
            elif (error := task.exception()) is not None:
                done.set_exception(error)
            else:
                done.set_result(None)

        task = asyncio.get_running_loop().create_task(run())
        task.add_done_callback(finish)
        done.add_done_callback(lambda _: task)  # holds the task: its loop does so only weakly

    def _unfinished(self) -> dict[Future[None], asyncio.AbstractEventLoop]:
        loops = self.loops.copy()
        for done in [done for done, loop in loops.items() if loop.is_closed()]:
            del loops[done]
            if self.loops.pop(done, None) is not None:
                _logger.warning(_CUT_OFF, "an earlier event")
                done.set_result(None)
        return loops

    def _end(self) -> None:
        if not self.flush(_EXIT_TIMEOUT):
            _logger.warning("Event handlers were still running at the end of the program and were cancelled.")
        self.stop()


_CUT_OFF = (
    "Handlers of %s were cut off, because their event loop ended. "
    "Wait for them with `await bus.aflush()` before it ends."
)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
