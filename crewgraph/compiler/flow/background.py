"""Operations of flow nodes: call a method, start methods in the background, and wait for the first of them to end."""

import asyncio
import threading
from collections.abc import Callable, Collection, Iterable
from concurrent import futures
from contextlib import suppress
from functools import partial
from inspect import iscoroutinefunction
from typing import Any

from crewgraph.core.cancellation import Cancellation, ExitRequested, notifying_later
from crewgraph.core.current import CURRENT
from crewgraph.core.loops.bridge import acall, call, outcome_of, outlasting, serving, start_in_thread
from crewgraph.core.operations import Do, Operation

GRACE = 5.0
"""Seconds to wait for methods that cannot be cancelled after another one has failed."""

Work = futures.Future[Any] | asyncio.Future[Any]
"""A method that runs in the background, in a thread or as an asyncio task."""


def called(work: Callable[[], object], cancellation: Cancellation) -> Do:
    """Call a method and wait for it; in a thread or a supervised run, to its end, even if the run is cancelled."""

    async def acalled() -> object:
        if iscoroutinefunction(work) and CURRENT.get().supervision is None:
            return await acall(work)
        return await _to_its_end(work, cancellation)

    return Do(partial(call, work), acalled)


class StartingTurn:
    """The turn of a method among several that start at once: it begins when the one before it has begun.

    Threads begin in any order. A method that does not wait for anything usually also ends before the next one: Python lets a
    thread run for a few milliseconds before it switches to another.

    Args:
        before: the turn of the method before it.
    """

    def __init__(self, before: "StartingTurn | None" = None) -> None:
        self._before = before
        self._begun = threading.Event()

    def take(self, work: Callable[[], object]) -> object:
        """Wait for the turn, then call the work, in its thread."""
        if self._before is not None:
            self._before._begun.wait()
            self._before = None
        self.pass_on()
        return work()

    def pass_on(self, _: object = None) -> None:
        """Let the next one begin: this one has begun, or never will."""
        self._begun.set()


class Begin(Operation):
    """Starts a method in the background, in its turn if others start at once."""

    def __init__(self, work: Callable[[], object], cancellation: Cancellation, turn: StartingTurn | None) -> None:
        self.work, self.cancellation, self.turn = work, cancellation, turn

    def run(self) -> Work:
        with notifying_later() as leave:
            work = _ThreadWork(leave)
            start_in_thread(partial(work.carry_out, self._in_turn(partial(call, self.work))))
        return self._passing_on(work)

    async def arun(self) -> Work:
        if iscoroutinefunction(self.work):  # tasks of a loop begin in order
            work = acall(self.work)
            if self.turn is not None:
                self.turn.pass_on()
        else:  # it has its own task, so that cancelling it (another method failed) does not cancel the run
            work = _to_its_end(self._in_turn(self.work), Cancellation())
        with self.cancellation.abandoning():
            return self._passing_on(asyncio.get_running_loop().create_task(work))

    def _in_turn(self, work: Callable[[], object]) -> Callable[[], object]:
        return work if self.turn is None else partial(self.turn.take, work)

    def _passing_on(self, work: Work) -> Work:
        if self.turn is not None:
            work.add_done_callback(self.turn.pass_on)  # it may be cancelled before it begins
        return work


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
            self.set_result(work())
        except BaseException as error:  # noqa: BLE001 - an outcome like any other, the pump looks at it
            self.set_exception(error)


async def _to_its_end(work: Callable[[], object], cancellation: Cancellation) -> object:
    """Run a method. A cancellation notifies it but still waits for it: a thread cannot be stopped, nor a supervised method."""
    with notifying_later() as leave, cancellation.abandoning():
        loop, is_async = asyncio.get_running_loop(), iscoroutinefunction(work)
        if is_async:
            ending: asyncio.Future[Any] = loop.create_task(acall(work))
            leave = ending.cancel
        else:
            ending = asyncio.wrap_future(start_in_thread(partial(outcome_of, serving(loop, work))))

    def on_cancel(*reason: Any) -> None:
        cancellation.request(*reason)
        if _is_cut():
            leave()

    try:
        result: Any = await outlasting(ending, on_cancel)
        return result if is_async else result.result()
    except asyncio.CancelledError as error:
        if cancellation.is_requested or CURRENT.get().supervision is None:
            raise
        raise ExitRequested(error) from None


def _is_cut() -> bool:
    supervision = CURRENT.get().supervision
    return supervision is None or supervision.is_cut


def backend_call(cancellation: Cancellation, function: Callable[..., Any], *args: object) -> Do:
    """Call a persistence backend after a method has ended: a cancellation waits until the end is recorded."""

    async def acalled() -> object:
        return await outlasting(asyncio.ensure_future(acall(function, *args)), cancellation.request)

    return Do(partial(call, function, *args), acalled)


def wait_for_any(works: Collection[Any], everything: Collection[Any], cancellation: Cancellation) -> Do:
    """Wait until one of several works is done; for all of them, if the run is cancelled."""

    def wait() -> None:
        try:
            futures.wait(works, return_when=futures.FIRST_COMPLETED)
        except BaseException:  # also KeyboardInterrupt
            _cancel(everything)
            raise

    async def await_any() -> None:
        try:
            await asyncio.wait(works, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError as error:
            cancellation.request(*error.args)
            await _aend_all(everything)

    return Do(wait, await_any)


def end_all(works: Collection[Any]) -> Do:
    """Cancel what can be cancelled, unless the run is supervised, and wait for the rest without limit, even if cancelled."""
    return Do(_settle, _aend_all, works)


async def _aend_all(works: Collection[Any]) -> None:
    while left := [work for work in works if not work.done()]:
        if _is_cut():
            _cancel(left)
        with suppress(asyncio.CancelledError):
            await asyncio.wait(left)
    _retrieve_exceptions(works)


def settle(works: Iterable[Any]) -> Do:
    """Cancel what can be cancelled, and wait some seconds for the rest."""
    return Do(partial(_settle, seconds=GRACE), _asettle, [work for work in works if not work.done()])


def _settle(works: Collection[Any], seconds: float | None = None) -> None:
    _cancel(works)
    futures.wait(works, seconds)


async def _asettle(works: Collection[Any]) -> None:
    _cancel(works)
    if works:
        done, _ = await asyncio.wait(works, timeout=GRACE)
        _retrieve_exceptions(done)


def _cancel(works: Iterable[Any]) -> None:
    for work in works:
        work.cancel()


def _retrieve_exceptions(works: Collection[Any]) -> None:
    """Retrieve the exceptions of works that are done, since asyncio warns about exceptions never retrieved."""
    for work in works:
        if not work.cancelled():
            work.exception()
