"""Ctrl-C and other signals: how long an interrupted run waits for its threads, and how the process ends if a thread does not.

A thread cannot be stopped. Its result is recorded if it ends in time; a tool that never ends must not keep the process alive.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Collection
from concurrent.futures import Executor, Future, wait
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from crewgraph.core.cancellation import abandon
from crewgraph.tracebacks import raised_by_signal

if TYPE_CHECKING:
    from crewgraph.core.claims import ThreadClaim

__all__ = ["PATIENCE", "end_with_main_thread", "interrupt_in", "is_interrupted", "leave_threads"]

PATIENCE = 5.0
"""Seconds that an interrupted run waits for its threads."""

_OWN = "crewgraph-"
_POLL_INTERVAL = 0.1  # seconds
_GRACE = 1.0  # seconds that the process may outlive its main thread
_STATUS = 128 + signal.SIGINT

_lock = threading.Lock()
_watching = False
_not_before = 0.0


def leave_threads(
    pool: Executor, works: "Collection[Future[Any]]", claim: "ThreadClaim | None", cause: BaseException
) -> None:
    """Wait a while for threads after an interruption, and let them begin nothing new.

    After Ctrl-C, the process does not wait for them when it exits, either. After other signals it does: the program may handle
    the exception and exit with status 0.

    Args:
        pool: the pool of the threads.
        works: what was submitted to it.
        claim: the claim on the run's thread, which is held until the last of the works has ended.
        cause: the interruption, from `interrupt_in`.
    """
    # At once, for Ctrl-C may come again; and even without works: Ctrl-C while a thread starts leaves one that no pool tracks.
    try:
        if isinstance(cause, KeyboardInterrupt):
            end_with_main_thread(time.monotonic() + PATIENCE)
    finally:
        abandon()
        for work in works:
            work.cancel()
    left = wait(works, PATIENCE).not_done
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


def end_with_main_thread(not_before: float = 0.0) -> None:
    """End the process some seconds after its main thread, if only threads of runs keep it alive.

    The interpreter would wait for them. In a notebook or a server the main thread lives on, and nothing happens.

    Args:
        not_before: the time, as `time.monotonic` has it, before which the process is not ended: a thread that had just been
            started, and that no pool tracks, is waited for as long as others.
    """
    global _not_before
    with _lock:
        _not_before = max(_not_before, not_before)
    try:
        _watch()
    except KeyboardInterrupt:  # Ctrl-C again, perhaps before the thread has started
        _watch()
        raise


def _watch() -> None:
    global _watching
    with _lock:
        if not _watching:
            threading.Thread(target=_end, name=f"{_OWN}end", daemon=True).start()
            _watching = True


def _end() -> None:
    while not _main_thread_has_ended():
        time.sleep(_POLL_INTERVAL)
    time.sleep(max(_GRACE, _not_before - time.monotonic()))
    while not _only_runs_are_left():  # this thread is a daemon: it ends with the others
        time.sleep(_POLL_INTERVAL)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # it has only `write`, is gone, or closed
            stream.flush()
    os._exit(_STATUS)


def _only_runs_are_left() -> bool:
    left = [thread for thread in threading.enumerate() if not thread.daemon and thread is not threading.main_thread()]
    return bool(left) and all(thread.name.startswith(_OWN) for thread in left)


def _main_thread_has_ended() -> bool:
    main = threading.main_thread()
    # The interpreter joins the threads of pools before it counts the main thread as ended.
    shutdown = vars(threading)["_shutdown"].__code__
    frame = sys._current_frames().get(main.ident or 0)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_code is not shutdown:
        frame = frame.f_back
    return frame is not None or not main.is_alive()


def is_interrupted() -> bool:
    """Whether Ctrl-C has cancelled the main task of `asyncio.run`.

    `asyncio.Runner` does not report it; if its handler is not the one of Python 3.11 to 3.14, the answer is False.
    """
    handler: Any = signal.getsignal(signal.SIGINT)
    runner = getattr(getattr(handler, "func", None), "__self__", None)
    return bool(getattr(runner, "_interrupt_count", 0))
