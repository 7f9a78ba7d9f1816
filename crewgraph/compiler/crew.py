"""A crew as a StateGraph."""

from collections.abc import Sequence
from typing import Any

from langgraph.graph import START, StateGraph

from crewgraph.compiler.assignment import Assignment, assignments
from crewgraph.compiler.crew_plan import planning_assignment
from crewgraph.compiler.form import Form
from crewgraph.compiler.idle import tell_idle
from crewgraph.compiler.sequential import told_of, wire_sequential
from crewgraph.compiler.state import INPUTS, PLANNING, schema
from crewgraph.compiler.unready import refuse_unready
from crewgraph.definitions.crew import Crew
from crewgraph.definitions.faults import crew_faults
from crewgraph.definitions.process import Process
from crewgraph.errors import CompileError

__all__ = ["crew_graph"]


def crew_graph(
    crew: Crew,
    tasks: Sequence[Assignment] | None = None,
    form: Form | None = None,
    planning: Assignment | None = None,
) -> "StateGraph[Any, Any, Any, Any]":
    """The graph of a crew: a node per task; its state holds `inputs` and a channel per task, written once.

    A crew that plans has a node before them, with a channel that is no part of the graph's output.

    Args:
        crew: what to translate.
        tasks: its assignments, where the caller has made them.
        form: how it is translated; a node per task where None.
        planning: the task that makes the plan for the others, where the caller has made it.

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
    planning, form = planning or planning_assignment(crew, tasks), form or Form()
    outputs = [one.slug for one in tasks]
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        schema("CrewState", [INPUTS, *([PLANNING] if planning else []), *outputs]),
        input_schema=schema("CrewInput", [INPUTS]),
        output_schema=schema("CrewResult", outputs),
    )
    if planning is None:
        wire_sequential(graph, tasks, form.node)
    else:
        node = form.planning(planning, tasks)
        graph.add_node(PLANNING, node, input_schema=schema(PLANNING, [INPUTS]), metadata=told_of(planning))
        graph.add_edge(START, PLANNING)
        wire_sequential(graph, tasks, form.node, first=PLANNING)
    return graph
