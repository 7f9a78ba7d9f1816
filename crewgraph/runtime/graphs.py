"""The compiled graph of a crew, made once for as long as the crew stays what it is."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.graph.state import CompiledStateGraph

from crewgraph.compiler.assignment import Assignment, assignments, made_of
from crewgraph.compiler.crew import crew_graph
from crewgraph.compiler.unready import refuse_unready
from crewgraph.definitions.crew import Crew

__all__ = ["CrewGraph", "Graph", "compiled", "graph_of"]

Graph = CompiledStateGraph[Any, Any, Any, Any]


@dataclass(frozen=True)
class CrewGraph:
    """A crew's compiled graph, and the tasks that its nodes do."""

    graph: Graph
    tasks: Sequence[Assignment]


def compiled(crew: Crew, *, checkpointer: Any = None, store: Any = None, cache: Any = None) -> Graph:
    """The crew as a compiled graph of the caller's own; see `Crew.compile`."""
    graph = crew_graph(crew, stored=checkpointer is not False)
    return graph.compile(checkpointer=checkpointer, store=store, cache=cache, name=f"Crew: {crew.name}")


def graph_of(crew: Crew, checkpointer: Any) -> CrewGraph:
    """The graph to run a crew with; the same one again where nothing it is made of has changed.

    Raises:
        CompileError: the crew cannot become a graph.
    """
    refuse_unready(crew)
    # The checkpointer is held by the graph that is kept, so its id is not given to another one meanwhile.
    key: Hashable = (made_of(crew), id(checkpointer))
    known: CrewGraph | None = crew.kept.get(key)
    if known is None:
        tasks = assignments(crew)
        graph = crew_graph(crew, tasks, stored=checkpointer is not False)
        known = CrewGraph(graph.compile(checkpointer=checkpointer, name=f"Crew: {crew.name}"), tasks)
        crew.kept.put(key, known)
    return known
