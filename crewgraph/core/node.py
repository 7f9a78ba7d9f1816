"""A body as a node of a LangGraph graph, for invoke and ainvoke alike."""

from collections.abc import Callable
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config

from crewgraph.core.draining import active_nodes, tracked_node
from crewgraph.core.effects import Body
from crewgraph.core.interpreter import run_body
from crewgraph.core.journal import Journal, with_spent
from crewgraph.core.operations import Program, adrive, drive
from crewgraph.core.resources import RESOURCES, closing_resources

__all__ = ["BodyNode"]


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
        config = ensure_config(config) if config is None else config
        if RESOURCES.get() is not None:
            return drive(self._program(input, config))
        with closing_resources():
            return drive(self._program(input, config))

    async def ainvoke(self, input: object, config: RunnableConfig | None = None, **kwargs: object) -> Any:
        config = ensure_config(config) if config is None else config
        if RESOURCES.get() is not None:
            return await adrive(self._program(input, config))
        with closing_resources():
            return await adrive(self._program(input, config))

    def _program(self, input: Any, config: RunnableConfig) -> Program[object]:
        program, nodes = self._update(input, config), active_nodes()
        return program if nodes is None else tracked_node(program, nodes)

    def _update(self, input: Any, config: RunnableConfig) -> Program[object]:
        journal = Journal(config, stored=self._stored)
        update = yield from run_body(self._body(input), journal)
        return with_spent(update, journal.spent.record_fields) if self._seals else update
