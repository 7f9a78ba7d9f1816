"""A body as a node of a LangGraph graph, for invoke and ainvoke alike."""

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config

from crewgraph.core.current import CURRENT, closing_resources
from crewgraph.core.draining import active_nodes, tracked_node
from crewgraph.core.effects import Body
from crewgraph.core.interpreter import run_body
from crewgraph.core.journal import Journal, with_spent
from crewgraph.core.operations import Program, adrive, drive
from crewgraph.schema import Metadata, PlainDict

__all__ = ["PROGRESS", "BodyChain", "BodyNode"]

PROGRESS = "crewgraph_progress"
"""The key in `configurable` of a dict that collects the updates of a `BodyChain`, so that a failed run keeps them."""


class _Node(Runnable[Any, Any]):
    """A node that runs a program, sync or async, and returns its state update.

    It is a Runnable rather than a function, because LangGraph disassembles a node's function in search of graphs that it might
    call, which is a third of the cost of compiling. It opens no run in the trace: LangGraph opens that of the node.
    """

    def update(self, input: Any, config: RunnableConfig) -> Program[object]:
        """Return the program of the node for an input."""
        raise NotImplementedError

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: object) -> Any:
        config = ensure_config(config) if config is None else config
        if CURRENT.get().resources is not None:
            return drive(self._program(input, config))
        with closing_resources():
            return drive(self._program(input, config))

    async def ainvoke(self, input: object, config: RunnableConfig | None = None, **kwargs: object) -> Any:
        config = ensure_config(config) if config is None else config
        if CURRENT.get().resources is not None:
            return await adrive(self._program(input, config))
        with closing_resources():
            return await adrive(self._program(input, config))

    def _program(self, input: Any, config: RunnableConfig) -> Program[object]:
        program, nodes = self.update(input, config), active_nodes()
        return program if nodes is None else tracked_node(program, nodes)


class BodyNode(_Node):
    """Runs `body(state)` and returns its state update.

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

    def update(self, input: Any, config: RunnableConfig) -> Program[object]:
        journal = Journal(config, stored=self._stored)
        update = yield from run_body(self._body(input), journal)
        return with_spent(update, journal.spent.record_fields) if self._seals else update


class BodyChain(_Node):
    """Runs the bodies of several nodes in sequence, each with the updates of those before it; returns all updates.

    For runs that are neither stored nor observed, in which a superstep would cost more than a short body. Each body closes
    what it opened, unless that belongs to an enclosing run.

    Args:
        name: the node's name.
        links: the nodes, and the metadata of their runs.
    """

    def __init__(self, name: str, links: Sequence[tuple[BodyNode, Metadata]]) -> None:
        self.name = name
        self._links = links

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: object) -> Any:
        return drive(self._program(input, ensure_config(config) if config is None else config))

    async def ainvoke(self, input: object, config: RunnableConfig | None = None, **kwargs: object) -> Any:
        return await adrive(self._program(input, ensure_config(config) if config is None else config))

    def update(self, input: Any, config: RunnableConfig) -> Program[object]:
        in_run = CURRENT.get().resources is not None
        state: PlainDict = dict(input)
        around: PlainDict = dict(config.get("metadata") or {})
        written: PlainDict = (config.get("configurable") or {}).get(PROGRESS, {})
        step: int = around.get("langgraph_step", 1)
        for number, (node, metadata) in enumerate(self._links):
            of_node = {**around, **metadata, "langgraph_node": node.name, "langgraph_step": step + number}
            program = node.update(state, {**config, "metadata": of_node})
            update: Any = yield from (program if in_run else _closing(program))
            state.update(update)
            written.update(update)
        return dict(written)


def _closing(program: Program[object]) -> Program[object]:
    with closing_resources():
        return (yield from program)
