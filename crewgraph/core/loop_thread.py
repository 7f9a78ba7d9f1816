"""An event loop in a thread of its own, for what lives and dies with the loop that it was made on."""

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from crewgraph.core.given_up import when_given_up
from crewgraph.core.own_loop import begin_loop

__all__ = ["LoopThread"]

T = TypeVar("T")


class LoopThread:
    """A loop on which nothing blocks; started when first needed, anew after a fork.

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

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin some work, in the caller's context, and do not wait for it; cancelling the future cancels it."""
        with self._lock:
            if self._loop is None:
                self._loop = begin_loop(self._name)
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What some work gives; waited for on this thread, which is not the loop's."""
        future = self.begin(work)

        def cancel() -> None:
            future.cancel()

        try:
            with when_given_up(cancel):
                return future.result()
        except BaseException:
            cancel()
            raise

    async def arun(self, work: Coroutine[Any, Any, T]) -> T:
        """What some work gives; waited for on the running event loop, whichever that is."""
        return await asyncio.wrap_future(self.begin(work))
