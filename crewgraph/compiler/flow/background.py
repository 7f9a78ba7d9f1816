"""Operations of flow nodes: call a method, start methods in the background, and wait for the first of them to end."""

import asyncio
from collections.abc import Callable, Collection
from concurrent import futures
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from typing import Any

from crewgraph.core.cancellation import giving_up, told_later
from crewgraph.core.loops.bridge import acall, begun, call
from crewgraph.core.operations import Operation

__all__ = ["Begin", "Called", "Settle", "WaitForAny", "Work"]


Work = futures.Future[Any] | asyncio.Future[Any]
"""A method that runs in the background, in a thread or as an asyncio task."""


class Called(Operation):
    """Calls a method and waits for it."""

    def __init__(self, work: Callable[[], object]) -> None:
        self.work = work

    def run(self) -> Any:
        return call(self.work)

    async def arun(self) -> object:
        return await acall(self.work)


class Begin(Operation):
    """Starts a method in the background."""

    def __init__(self, work: Callable[[], object]) -> None:
        self.work = work

    def run(self) -> Work:
        with told_later() as leave:
            work = _ThreadWork(leave)
            begun(partial(work.carry_out, self.work))
        return work

    async def arun(self) -> Work:
        work = acall(self.work) if iscoroutinefunction(self.work) else _to_its_end(self.work)
        return asyncio.get_running_loop().create_task(work)


class _ThreadWork(futures.Future[Any]):
    """A method in a thread. The thread cannot be stopped, but after a cancellation it no longer waits for async code."""

    def __init__(self, leave: Callable[[], None]) -> None:
        super().__init__()
        self._leave = leave

    def cancel(self) -> bool:
        self._leave()
        return super().cancel()

    def carry_out(self, work: Callable[[], object]) -> None:
        """Call the method, in the thread."""
        if not self.set_running_or_notify_cancel():
            return
        try:
            self.set_result(call(work))
        except BaseException as error:  # noqa: BLE001 - an outcome like any other, the pump looks at it
            self.set_exception(error)


async def _to_its_end(work: Callable[[], object]) -> object:
    """Run a blocking method. After a cancellation it is notified and still waited for: a thread cannot be stopped."""
    thread = None
    value: object
    try:
        with giving_up():
            thread = asyncio.wrap_future(begun(work))
            value = await asyncio.shield(thread)
    except asyncio.CancelledError:
        if thread is None:
            raise
        value = await thread
    return await value if isawaitable(value) else value


class WaitForAny(Operation):
    """Waits until one of several works is done."""

    def __init__(self, works: Collection[Any]) -> None:
        self.works = works

    def run(self) -> None:
        futures.wait(self.works, return_when=futures.FIRST_COMPLETED)

    async def arun(self) -> None:
        await asyncio.wait(self.works, return_when=asyncio.FIRST_COMPLETED)


class Settle(Operation):
    """Cancels what can be cancelled, and waits some seconds for the rest."""

    def __init__(self, works: Collection[Any], seconds: float) -> None:
        self.works, self.seconds = works, seconds

    def run(self) -> None:
        for work in self.works:
            work.cancel()
        futures.wait(self.works, self.seconds)

    async def arun(self) -> None:
        for work in self.works:
            work.cancel()
        if self.works:
            done, _ = await asyncio.wait(self.works, timeout=self.seconds)
            for work in done:  # asyncio tells of exceptions that nobody has looked at
                if not work.cancelled():
                    work.exception()
