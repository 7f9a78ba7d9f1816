"""A crew as a StateGraph."""

from collections.abc import Sequence
from typing import Any, TypedDict

from langgraph.graph import StateGraph

from crewgraph.compiler.assignment import INPUTS, Assignment, assignments
from crewgraph.compiler.sequential import wire_sequential
from crewgraph.compiler.unready import refuse_unready
from crewgraph.definitions.crew import Crew
from crewgraph.errors import CompileError

__all__ = ["crew_graph"]


def crew_graph(
    crew: Crew, tasks: Sequence[Assignment] | None = None, *, stored: bool = True
) -> "StateGraph[Any, Any, Any, Any]":
    """The graph of a crew: a node per task; its state holds `inputs` and a channel per task, written once.

    Args:
        crew: what to translate.
        tasks: its assignments, where the caller has made them.
        stored: False where the graph is compiled to keep nothing.

    Raises:
        CompileError: the crew has nothing to do or nobody to do it, or uses what cannot be translated.
    """
    if not crew.tasks:
        raise CompileError("the crew has no tasks; give it `tasks=[...]`.")
    if not crew.agents:
        raise CompileError("the crew has no agents; list the agents of its tasks in `agents=[...]`.")
    refuse_unready(crew)
    tasks = tasks or assignments(crew)
    outputs: dict[str, Any] = dict.fromkeys((one.slug for one in tasks), dict[str, Any])
    inputs: dict[str, Any] = {INPUTS: dict[str, Any]}
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        TypedDict("CrewState", {**inputs, **outputs}, total=False),  # pyright: ignore[reportArgumentType]
        input_schema=TypedDict("CrewInput", inputs, total=False),  # pyright: ignore[reportArgumentType]
        output_schema=TypedDict("CrewResult", outputs, total=False),  # pyright: ignore[reportArgumentType]
    )
    wire_sequential(graph, tasks, stored=stored)
    return graph
