"""The picture of a crew: its tasks, in the order and beside each other as they run."""

import os
import textwrap
from collections.abc import Iterator, Sequence
from html import escape

from crewgraph.compiler.crew.graph import parallel_group
from crewgraph.compiler.task.binding import TaskBinding, bind_tasks
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.task.task import ConditionalTaskDefinition
from crewgraph.errors import CrewgraphError
from crewgraph.plot.flow import write_page
from crewgraph.plot.page import render_inline
from crewgraph.plot.picture import Edge, Node, Picture, mermaid

_MAX_TITLE = 60
"""Maximum number of characters of a description that stands for a name."""


def plot_crew(crew: CrewDefinition, filename: str | os.PathLike[str], show: bool) -> str:
    """Write the HTML page of a crew; see `Crew.plot`."""
    return write_page(_crew_picture(crew), filename, show)


def crew_mermaid(crew: CrewDefinition) -> str:
    """Return a crew as mermaid text; see `Crew.to_mermaid`."""
    return mermaid(_crew_picture(crew))


def display_crew(crew: CrewDefinition) -> str:
    """Return the HTML of a crew for a notebook; for an invalid crew its error, because displaying an object must not fail."""
    try:
        return render_inline(_crew_picture(crew))
    except CrewgraphError as error:
        return f"<pre>{escape(str(error))}</pre>"


def _crew_picture(crew: CrewDefinition) -> Picture:
    tasks = bind_tasks(crew)
    first = len(parallel_group(tasks, 0)) if tasks else 0
    nodes = tuple(_task_node(assignment, number < first, tasks) for number, assignment in enumerate(tasks))
    return Picture(crew.name or "crew", "", nodes, tuple(_crew_edges(tasks)), noun="crew")


def _task_node(assignment: TaskBinding, begins: bool, tasks: Sequence[TaskBinding]) -> Node:
    task, role = assignment.task, assignment.agent.template("role") or ""
    titles = {id(other.task): _node_title(other) for other in tasks}
    context_tasks = task.context if isinstance(task.context, list) else []
    context = [titles[id(other)] for other in context_tasks if id(other) in titles]
    facts = [("Agent", role), ("Expected output", task.template("expected_output") or "")]
    if context:
        facts.append(("Context", ", ".join(context)))
    if assignment.tools:
        facts.append(("Tools", ", ".join(str(getattr(tool, "name", tool)) for tool in assignment.tools)))
    if task.async_execution:
        facts.append(("Runs", "beside its neighbors"))
    return Node(
        name=assignment.slug,
        kind="task",
        begins=begins,
        calls_crew=False,
        signature="",
        text=task.template("description") or "",
        waits="",
        labels=(),
        title=_node_title(assignment),
        note=role,
        is_conditional=isinstance(task, ConditionalTaskDefinition),
        facts=tuple(facts),
    )


def _node_title(assignment: TaskBinding) -> str:
    """Return the name of a task as its author wrote it, else the beginning of its description."""
    task = assignment.task
    return (
        task.name
        or textwrap.shorten(task.template("description") or "", _MAX_TITLE, placeholder=" …")
        or assignment.slug
    )


def _crew_edges(tasks: Sequence[TaskBinding]) -> Iterator[Edge]:
    """Yield the edges; a conditional task can be skipped, so those before it also lead to the task behind it."""
    frontier: tuple[str, ...] = ()
    waits, position = False, 0
    while position < len(tasks):
        group = parallel_group(tasks, position)
        is_conditional = isinstance(group[0].task, ConditionalTaskDefinition)
        for assignment in group:
            for source in frontier:
                labels = ("if it applies",) if is_conditional else ()
                yield Edge(source, assignment.slug, labels, routed=is_conditional, joined=waits)
        names = tuple(assignment.slug for assignment in group)
        frontier, waits = ((*frontier, *names), False) if is_conditional else (names, len(names) > 1)
        position += len(group)
