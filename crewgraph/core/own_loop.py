"""Event loops in threads of our own."""

import asyncio
import gc
import sys
import threading
from collections.abc import AsyncGenerator
from typing import Any

__all__ = ["begin_loop"]

_PAUSE = 0.001


def begin_loop(name: str) -> asyncio.AbstractEventLoop:
    """A loop that runs for as long as the process does.

    Args:
        name: the thread's name.
    """
    if _Collector.noted not in gc.callbacks:
        gc.callbacks.append(_Collector.noted)
    loop = asyncio.new_event_loop()
    loop.call_soon(_close_what_was_collected, loop)  # a loop puts its own hooks in place as it begins to run
    threading.Thread(target=loop.run_forever, name=name, daemon=True).start()
    return loop


class _Collector:
    """Whether the garbage collector is at work, in whichever thread."""

    busy = False

    @staticmethod
    def noted(phase: str, _: dict[str, int]) -> None:
        _Collector.busy = phase == "start"


def _close_what_was_collected(loop: asyncio.AbstractEventLoop) -> None:
    """Have async generators that nobody holds any more closed once the collector has gone through all it found.

    A stream that was left in the middle is such a cluster of generators. The loop would begin to close the outermost one while
    the collector, in another thread, still comes to those inside, finds them at work and tells of a ValueError.
    """
    hooks = sys.get_asyncgen_hooks()
    close = hooks.finalizer
    assert close is not None

    def finalize(left: AsyncGenerator[Any, Any]) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(later, left)

    def later(left: AsyncGenerator[Any, Any]) -> None:
        if _Collector.busy:
            loop.call_later(_PAUSE, later, left)
        else:
            close(left)

    sys.set_asyncgen_hooks(hooks.firstiter, finalize)
