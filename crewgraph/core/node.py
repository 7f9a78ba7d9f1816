"""A body as a node of a LangGraph graph, for invoke and ainvoke alike.

A node that reaches a limit waits for the other active nodes before its graph learns of it: LangGraph cancels the nodes that
run in parallel with a failed one, and their requests would be paid for and lost.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config

from crewgraph.core.current import CURRENT, closing_resources
from crewgraph.core.effects import Body
from crewgraph.core.interpreter import run_body
from crewgraph.core.journal import Journal, with_spent
from crewgraph.core.limits import Meter, Stopped
from crewgraph.core.operations import Do, Program, adrive, drive

T = TypeVar("T")


class BodyNode(Runnable[Any, Any]):
    """A node that runs `body(state)`, sync or async, and returns its state update.

    It is a Runnable rather than a function, because LangGraph disassembles a node's function in search of graphs that it might
    call, which is a third of the cost of compiling. It opens no run in the trace: LangGraph opens that of the node.

    Args:
        name: the node's name in drawings and traces.
        body: creates the generator of effects from the node's input.
        stored: False if the graph is compiled without a checkpointer.
        seals: whether to add to the outputs what was spent for them.
        traced: converts the update into what the trace shows as the node's output; None shows it as it is.
    """

    def __init__(
        self,
        name: str,
        body: Callable[[dict[str, object]], Body[Any]],
        *,
        stored: bool = True,
        seals: bool = False,
        traced: Callable[[Any], object] | None = None,
    ) -> None:
        self.name, self.traced = name, traced
        self._body, self._stored, self._seals = body, stored, seals

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: object) -> Any:
        program = tracked_node(self._update(input, ensure_config() if config is None else config))
        if CURRENT.get().resources is not None:
            return drive(program)
        with closing_resources():
            return drive(program)

    async def ainvoke(self, input: object, config: RunnableConfig | None = None, **kwargs: object) -> Any:
        program = tracked_node(self._update(input, ensure_config() if config is None else config))
        if CURRENT.get().resources is not None:
            return await adrive(program)
        with closing_resources():
            return await adrive(program)

    def _update(self, input: Any, config: RunnableConfig) -> Program[object]:
        journal = Journal(config, stored=self._stored)
        update = yield from run_body(self._body(input), journal)
        return with_spent(update, journal.spent.record_fields) if self._seals else update


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


def tracked_node(program: Program[T]) -> Program[T]:
    """Run the program of a node, counted as active by the meter of its run, if that counts them."""
    nodes = CURRENT.get().meter
    if not isinstance(nodes, ActiveNodes):
        return (yield from program)
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
