"""Draining: a node that reaches a limit waits for the other active nodes before its graph learns of it.

LangGraph cancels the nodes that run in parallel with a failed one; their requests would be paid for and lost.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

from crewgraph.core.limits import METER, Meter, Stopped
from crewgraph.core.operations import Do, Program

__all__ = ["ActiveNodes", "active_nodes", "tracked_node"]


T = TypeVar("T")


class ActiveNodes(Meter):
    """The meter of a run, which also counts its active nodes."""

    def __init__(self, around: Meter | None = None) -> None:
        super().__init__(around)
        self._active = 0
        self._waiting: list[Callable[[], object]] = []
        self._nodes_lock = threading.Lock()

    def enter(self) -> None:
        """Count a node that starts."""
        with self._nodes_lock:
            self._active += 1

    def leave(self) -> None:
        """Count a node that has ended or stopped."""
        with self._nodes_lock:
            self._active -= 1
            woken = () if self._active else tuple(self._waiting)
        for wake in woken:
            wake()

    def wait(self) -> None:
        """Wait until no node is active."""
        rest = threading.Event()
        self._at_rest(rest.set)
        rest.wait()

    async def await_rest(self) -> None:
        """Wait until no node is active."""
        loop, rest = asyncio.get_running_loop(), asyncio.Event()
        self._at_rest(lambda: loop.call_soon_threadsafe(rest.set))
        await rest.wait()

    def _at_rest(self, wake: Callable[[], object]) -> None:
        """Call a function when no node is active, at once if none is."""
        with self._nodes_lock:
            self._waiting.append(wake)
            now = not self._active
        if now:
            wake()


def active_nodes() -> ActiveNodes | None:
    """Return the meter that counts the active nodes of the running code, if its run has one."""
    meter = METER.get()
    return meter if isinstance(meter, ActiveNodes) else None


def tracked_node(program: Program[T], nodes: ActiveNodes) -> Program[T]:
    """Run the program of a node, counted as active by the meter of its run."""
    nodes.enter()
    stopped: Stopped | None = None
    try:
        return (yield from program)
    except Stopped as stop:
        stopped = stop
    finally:
        nodes.leave()
    yield Do(nodes.wait, nodes.await_rest)
    raise stopped
