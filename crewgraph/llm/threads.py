"""Blocking calls made from async code."""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

__all__ = ["in_thread"]

_Result = TypeVar("_Result")

_AT_ONCE = 10_000


class _Threads:
    """Threads that start when none is idle; new ones after a fork, which takes none along."""

    def __init__(self) -> None:
        self.renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.renew)

    def renew(self) -> None:
        self.pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="crewgraph-llm")


_threads = _Threads()


async def in_thread(work: Callable[[], _Result]) -> _Result:
    """Do blocking work in a thread, with the caller's context variables.

    The event loop's own pool has cpu + 4 threads, which would bound how many models answer at once.
    """
    return await asyncio.get_running_loop().run_in_executor(_threads.pool, copy_context().run, work)
