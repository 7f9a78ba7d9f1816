"""A crew as a StateGraph."""

from collections.abc import Sequence
from typing import Any

from langgraph.graph import StateGraph

from crewgraph.compiler.assignment import Assignment, assignments
from crewgraph.compiler.form import Form
from crewgraph.compiler.idle import tell_idle
from crewgraph.compiler.sequential import wire_sequential
from crewgraph.compiler.state import INPUTS, schema
from crewgraph.compiler.unready import refuse_unready
from crewgraph.definitions.crew import Crew
from crewgraph.definitions.faults import crew_faults
from crewgraph.definitions.process import Process
from crewgraph.errors import CompileError

__all__ = ["crew_graph"]


def crew_graph(
    crew: Crew, tasks: Sequence[Assignment] | None = None, form: Form | None = None
) -> "StateGraph[Any, Any, Any, Any]":
    """The graph of a crew: a node per task; its state holds `inputs` and a channel per task, written once.

    Args:
        crew: what to translate.
        tasks: its assignments, where the caller has made them.
        form: how it is translated; a node per task where None.

    Raises:
        CompileError: the crew has nothing to do or nobody to do it, or uses what cannot be translated.
    """
    if not crew.tasks:
        raise CompileError("the crew has no tasks; give it `tasks=[...]`.")
    if not crew.agents and crew.process is Process.sequential:
        raise CompileError("the crew has no agents; list the agents of its tasks in `agents=[...]`.")
    if faults := crew_faults(crew):  # it was meaningful when it was made, and changed since
        raise CompileError("\n".join(map(str, faults)))
    refuse_unready(crew)
    tell_idle(crew)
    tasks = tasks or assignments(crew)
    outputs = [one.slug for one in tasks]
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        schema("CrewState", [INPUTS, *outputs]),
        input_schema=schema("CrewInput", [INPUTS]),
        output_schema=schema("CrewResult", outputs),
    )
    wire_sequential(graph, tasks, (form or Form()).node)
    return graph
