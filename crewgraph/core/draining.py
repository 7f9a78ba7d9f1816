"""Draining: a node that reaches a limit waits for the other active nodes before its graph learns of it.

LangGraph cancels the nodes that run in parallel with a failed one; their requests would be paid for and lost.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

from crewgraph.core.limits import METER, Meter, Stopped
from crewgraph.core.operations import Operation, Program

__all__ = ["ActiveNodes", "tracked_node"]


T = TypeVar("T")


class ActiveNodes(Meter):
    """The meter of a run, which also counts its active nodes."""

    def __init__(self, around: Meter | None = None) -> None:
        super().__init__(around)
        self._playing = 0
        self._waiting: list[Callable[[], object]] = []
        self._door = threading.Lock()

    def enter(self) -> None:
        """Count a node that starts."""
        with self._door:
            self._playing += 1

    def leave(self) -> None:
        """Count a node that has ended or stopped."""
        with self._door:
            self._playing -= 1
            woken = () if self._playing else tuple(self._waiting)
        for wake in woken:
            wake()

    def at_rest(self, wake: Callable[[], object]) -> None:
        """Call a function when no node is active, at once if none is."""
        with self._door:
            self._waiting.append(wake)
            now = not self._playing
        if now:
            wake()


class _Rest(Operation):
    """Waits until no node of a run is active."""

    def __init__(self, players: ActiveNodes) -> None:
        self.players = players

    def run(self) -> None:
        rest = threading.Event()
        self.players.at_rest(rest.set)
        rest.wait()

    async def arun(self) -> None:
        loop, rest = asyncio.get_running_loop(), asyncio.Event()
        self.players.at_rest(lambda: loop.call_soon_threadsafe(rest.set))
        await rest.wait()


def tracked_node(program: Program[T]) -> Program[T]:
    """Run the program of a node, counted as active by the meter of its run."""
    players = METER.get()
    if not isinstance(players, ActiveNodes):
        return (yield from program)
    players.enter()
    stopped: Stopped | None = None
    try:
        return (yield from program)
    except Stopped as stop:
        stopped = stop
    finally:
        players.leave()
    yield _Rest(players)
    raise stopped
