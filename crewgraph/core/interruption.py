"""Ctrl-C and other signals: how long an interrupted run waits for its threads.

A thread cannot be stopped. Its result is recorded if it ends in time; a tool that never ends must not keep the process alive.
"""

import signal
import threading
from concurrent.futures import wait
from typing import TYPE_CHECKING, Any

from crewgraph.core.cancellation import abandon
from crewgraph.core.loops.threads import ThreadPool, leave
from crewgraph.tracebacks import raised_by_signal

if TYPE_CHECKING:
    from crewgraph.core.claims import ThreadClaim

__all__ = ["PATIENCE", "interrupt_in", "is_interrupted", "leave_threads"]

PATIENCE = 5.0
"""Seconds that an interrupted run waits for its threads."""


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
    left = wait(calls, PATIENCE).not_done
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
