"""A body as a node of a LangGraph graph, for invoke and ainvoke alike."""

from collections.abc import Callable
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.utils.runnable import RunnableCallable

from crewgraph.core.effects import Body
from crewgraph.core.journal import Journal
from crewgraph.core.operations import adrive, drive
from crewgraph.core.rules import whole

__all__ = ["node"]


def node(name: str, body: Callable[[dict[str, Any]], Body[Any]], *, stored: bool = True) -> Runnable[Any, Any]:
    """A runnable that plays `body(state)` and returns its state update.

    Args:
        name: the node's name in drawings and traces.
        body: makes the generator of effects from the node's input.
        stored: False where the graph is compiled to keep nothing.
    """

    def run(state: dict[str, Any], config: RunnableConfig) -> Any:
        return drive(whole(body(state), Journal(config, stored=stored), config))

    async def arun(state: dict[str, Any], config: RunnableConfig) -> Any:
        return await adrive(whole(body(state), Journal(config, stored=stored), config))

    # LangGraph makes the run of a node in the trace itself: a second one would only repeat it.
    return RunnableCallable(run, arun, name=name, trace=False)
