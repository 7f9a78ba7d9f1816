"""Blocking calls made from async code."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

__all__ = ["in_thread"]

_Result = TypeVar("_Result")


async def in_thread(work: Callable[[], _Result]) -> _Result:
    """Do blocking work in a thread of its own, with the caller's context variables.

    The event loop's own pool has cpu + 4 threads, which would bound how many models answer at once; a model
    call takes a thousand times longer than starting a thread.
    """
    pool = ThreadPoolExecutor(1, thread_name_prefix="crewgraph-llm")
    try:
        return await asyncio.get_running_loop().run_in_executor(pool, copy_context().run, work)
    finally:
        pool.shutdown(wait=False)
