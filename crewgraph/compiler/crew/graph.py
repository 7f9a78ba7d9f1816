"""A crew as a StateGraph.

Tasks one after the other: edges, parallel branches of asynchronous tasks, and a conditional edge per conditional task.

How a crew is translated into a graph.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.utils.runnable import RunnableCallable

from crewgraph.compiler.crew.planning import crew_plan_body, planning_binding
from crewgraph.compiler.crew.state import INPUTS, PLANNING, schema
from crewgraph.compiler.preflight import check_crew, warn_without_effect
from crewgraph.compiler.task.binding import TaskBinding, bind_tasks
from crewgraph.compiler.task.body import skipped_output, task_body
from crewgraph.compiler.task.steps import STAGES, step_graph
from crewgraph.core.loops.bridge import acall, call
from crewgraph.core.node import BodyNode
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.crew.process import Process
from crewgraph.definitions.crew.validation import title, validate_crew
from crewgraph.definitions.task.output import TaskOutput
from crewgraph.definitions.task.task import ConditionalTask
from crewgraph.errors import CompileError

__all__ = ["Granularity", "TaskNode", "crew_graph", "group_from", "node_task", "told_of", "wire_sequential"]


_State = dict[str, Any]
_FEW = 8


@dataclass(frozen=True)
class _Ends:
    """Where the graph stands: the nodes that lead on, all of which are waited for, or one of which runs."""

    nodes: tuple[str, ...]
    wait_for_all: bool = False


TaskNode = Callable[[TaskBinding, Sequence[str]], Any]
"""Makes the node of a task, from the task and the channels that it reads."""


def wire_sequential(
    graph: "StateGraph[Any, Any, Any, Any]", tasks: Sequence[TaskBinding], task_node: TaskNode, first: str = START
) -> None:
    """Add the nodes and edges of a sequential crew.

    Args:
        graph: an empty graph whose state has a channel per task.
        tasks: the crew's tasks in order.
        task_node: makes the node of a task.
        first: the node that stands before them, if any.
    """
    ends = _Ends((first,))
    schemas = _Schemas([one.slug for one in tasks])
    at = 0
    while at < len(tasks):
        group = group_from(tasks, at)
        for assignment in group:
            read = schemas.of(assignment)
            graph.add_node(
                assignment.slug,
                task_node(assignment, read.channels),
                input_schema=read.schema,
                metadata=told_of(assignment),
            )
        if isinstance(group[0].task, ConditionalTask):
            ends = _conditional(graph, ends, group[0], tasks[at - 1])
        else:
            for assignment in group:
                _connect(graph, ends, assignment.slug)
            ends = _Ends(tuple(one.slug for one in group), wait_for_all=len(group) > 1)
        at += len(group)
    _connect(graph, ends, END)


def group_from(tasks: Sequence[TaskBinding], at: int) -> Sequence[TaskBinding]:
    """The task at a position, with its asynchronous neighbours behind it where it is asynchronous."""
    end = at + 1
    if tasks[at].task.async_execution:
        while end < len(tasks) and tasks[end].task.async_execution:
            end += 1
    return tasks[at:end]


def node_task(node: str) -> str:
    """The task that a node is for: its own, the one that skips it, or the one where branches meet before it."""
    return node.rpartition(" ")[2]


def _connect(graph: "StateGraph[Any, Any, Any, Any]", ends: _Ends, target: str) -> None:
    if ends.wait_for_all and target != END:
        graph.add_edge(list(ends.nodes), target)
    else:
        for source in ends.nodes:
            graph.add_edge(source, target)


@dataclass(frozen=True)
class _Read:
    """The part of the state that a task reads."""

    channels: tuple[str, ...]
    schema: Any


def told_of(assignment: TaskBinding) -> dict[str, Any]:
    """What traces and streams say of each run of a task."""
    crew = assignment.crew.name if assignment.crew is not None else None
    return {"crew_name": crew, "task": assignment.slug, "agent_role": assignment.agent.template("role")}


class _Schemas:
    """What each task reads of the state.

    Reading all of it would make each task slower the more there are; a schema of its own for each task that reads all
    earlier ones would make compiling slower by the square of their number. So those read a prefix whose length is a power
    of two: there are few of these, and none reads more than twice of what it needs.
    """

    def __init__(self, slugs: Sequence[str]) -> None:
        self._slugs = slugs
        self._position = {slug: n for n, slug in enumerate(slugs)}
        self._prefixes: dict[int, _Read] = {}

    def of(self, assignment: TaskBinding) -> _Read:
        sources, shared = assignment.sources, _shared(assignment)
        if len(sources) <= _FEW:
            return _Read((*shared, *sources), schema(assignment.slug, [INPUTS, *shared, *sources]))
        length = 1 << max(self._position[source] for source in sources).bit_length()
        if length not in self._prefixes:
            read = (*shared, *self._slugs[:length])
            self._prefixes[length] = _Read(read, schema(f"first_{length}", [INPUTS, *read]))
        return self._prefixes[length]


def _shared(assignment: TaskBinding) -> tuple[str, ...]:
    """What every task of the crew reads, besides its inputs."""
    return () if assignment.planned is None else (PLANNING,)


def _conditional(
    graph: "StateGraph[Any, Any, Any, Any]", ends: _Ends, assignment: TaskBinding, before: TaskBinding
) -> _Ends:
    """A conditional edge to the task or to its skip node, from whatever ran before."""
    skip = f"skip {assignment.slug}"  # a blank: no task's node is called like that; see `task_of`
    graph.add_node(skip, _skip_node(assignment), input_schema=schema(skip, [INPUTS, *_shared(assignment)]))
    sources = ends.nodes
    if ends.wait_for_all:  # an edge with a condition leaves from one node: let the branches meet in one
        meeting = f"before {assignment.slug}"
        graph.add_node(meeting, _MEETING)
        _connect(graph, ends, meeting)
        sources = (meeting,)
    choose = _choice(assignment, before, skip)
    for source in sources:
        graph.add_conditional_edges(source, choose, [assignment.slug, skip])
    return _Ends((assignment.slug, skip))


def _nothing(_: _State) -> _State:
    return {}


_MEETING: Any = _nothing


def _skip_node(assignment: TaskBinding) -> Any:
    def skipped(state: _State) -> _State:
        return {assignment.slug: assignment.labelled(skipped_output(assignment, state).to_plain())}

    return skipped


def _choice(assignment: TaskBinding, before: TaskBinding, skip: str) -> Any:
    """The function of a conditional edge: which way the output before the task says to go."""
    task = assignment.task

    def judged(state: Mapping[str, Any]) -> Any:
        assert isinstance(task, ConditionalTask)
        try:
            return task.should_execute(TaskOutput.from_plain(state[before.slug], before.task.output_pydantic))
        except BaseException as error:
            error.add_note(f"in the condition of {title(task)}")
            raise

    def way(wanted: Any) -> str:
        return assignment.slug if wanted else skip

    def choose(state: _State, config: RunnableConfig) -> str:
        return way(call(judged, state))

    async def achoose(state: _State, config: RunnableConfig) -> str:
        return way(await acall(judged, state))

    # What a branch reads is told by this annotation; without it, only what the node before it reads.
    choose.__annotations__["state"] = schema("judged", [before.slug])
    return RunnableCallable(choose, achoose, name=f"if {assignment.slug}", trace=False)


@dataclass(frozen=True, kw_only=True)
class Granularity:
    """How a crew is translated."""

    granularity: str = "task"
    """"task": a node per task; "step": each task a graph of its steps."""

    stored: bool = True
    """False where the graph is compiled to keep nothing."""

    before: tuple[str, ...] = ()
    """Nodes to stop before: tasks, steps, and steps of one task as `task:step`."""

    after: tuple[str, ...] = ()
    """Nodes to stop after."""

    def node(self, assignment: TaskBinding, sources: Sequence[str]) -> Any:
        """The node of a task that reads some channels."""
        if self.granularity == "step":
            return step_graph(
                assignment,
                sources,
                stored=self.stored,
                before=_steps(self.before, assignment),
                after=_steps(self.after, assignment),
            )
        return BodyNode(assignment.slug, partial(task_body, assignment), stored=self.stored, seals=True)

    def planning(self, planning: TaskBinding, tasks: Sequence[TaskBinding]) -> Any:
        """The node that makes the plan; it has no steps."""
        return BodyNode(planning.slug, partial(crew_plan_body, planning, tasks), stored=self.stored, seals=True)

    def tasks(self, names: Sequence[str], tasks: Sequence[TaskBinding]) -> list[str]:
        """Those of some names that are tasks.

        Raises:
            CompileError: a name is that of nothing one could stop at.
        """
        slugs = [*([PLANNING] if tasks and tasks[0].planned is not None else []), *(one.slug for one in tasks)]
        steps = STAGES if self.granularity == "step" else ()
        known = {*slugs, *steps, *(f"{one.slug}:{step}" for one in tasks for step in steps)}
        for name in names:
            if name not in known:
                listed = ", ".join(f"`{one}`" for one in (*slugs, *steps))
                hint = "" if steps else ', and with `granularity="step"` the steps of tasks'
                raise CompileError(f"there is no node `{name}` to stop at; there are {listed}{hint}.")
        return [name for name in names if name in slugs]


def _steps(names: Sequence[str], assignment: TaskBinding) -> list[str]:
    own = f"{assignment.slug}:"
    return [name.removeprefix(own) for name in names if name in STAGES or name.startswith(own)]


def crew_graph(
    crew: Crew,
    tasks: Sequence[TaskBinding] | None = None,
    form: Granularity | None = None,
    planning: TaskBinding | None = None,
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
    if faults := validate_crew(crew):  # it was meaningful when it was made, and changed since
        raise CompileError("\n".join(map(str, faults)))
    check_crew(crew)
    warn_without_effect(crew)
    tasks = tasks or bind_tasks(crew)
    planning, form = planning or planning_binding(crew, tasks), form or Granularity()
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
