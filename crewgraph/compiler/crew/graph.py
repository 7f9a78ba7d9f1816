"""The graph of a crew: tasks in order, asynchronous ones in parallel branches, conditional ones behind conditional edges."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.utils.runnable import RunnableCallable

from crewgraph.compiler.crew.planning import crew_plan_body, planning_binding
from crewgraph.compiler.crew.state import INPUTS, MESSAGES, PLANNING, UPDATES, schema
from crewgraph.compiler.preflight import check_crew, warn_without_effect
from crewgraph.compiler.task.binding import TaskBinding, bind_tasks
from crewgraph.compiler.task.body import skipped_output, task_body
from crewgraph.compiler.task.steps import STAGES, step_graph
from crewgraph.core.loops.bridge import acall, call
from crewgraph.core.node import BodyNode
from crewgraph.core.pregel import coming, pending_input, reached
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.crew.validation import validate_crew
from crewgraph.definitions.task.output import TaskOutput
from crewgraph.definitions.task.task import ConditionalTaskDefinition
from crewgraph.errors import CompileError, DefinitionChanged
from crewgraph.schema import Metadata, PlainMapping

_State = dict[str, Any]
_MAX_OWN_SCHEMA = 8
_ALL = "*"
"""All nodes, as LangGraph names them where a graph is to stop."""


@dataclass(frozen=True)
class _Frontier:
    """The nodes that the next node follows: all of them are waited for, or only one of them runs."""

    nodes: tuple[str, ...]
    wait_for_all: bool = False


TaskNode = Callable[[TaskBinding, Sequence[str]], Any]
"""Creates the node of a task, given the task and the channels that it reads."""


def wire_sequential(
    graph: "StateGraph[Any]", tasks: Sequence[TaskBinding], task_node: TaskNode, first: str = START
) -> None:
    """Add the nodes and edges of a sequential crew.

    Args:
        graph: an empty graph whose state has a channel per task.
        tasks: the crew's tasks in order.
        task_node: creates the node of a task.
        first: the node before them.
    """
    frontier = _Frontier((first,))
    schemas = _Schemas([bound.slug for bound in tasks])
    position = 0
    while position < len(tasks):
        group = parallel_group(tasks, position)
        for assignment in group:
            read_schema = schemas.of(assignment)
            graph.add_node(
                assignment.slug,
                task_node(assignment, read_schema.channels),
                input_schema=read_schema.schema,
                metadata=task_metadata(assignment),
            )
        if isinstance(group[0].task, ConditionalTaskDefinition):
            frontier = _conditional(graph, frontier, group[0], tasks[position - 1])
        else:
            for assignment in group:
                _connect_frontier(graph, frontier, assignment.slug)
            frontier = _Frontier(tuple(bound.slug for bound in group), wait_for_all=len(group) > 1)
        position += len(group)
    _connect_frontier(graph, frontier, END)


def parallel_group(tasks: Sequence[TaskBinding], position: int) -> Sequence[TaskBinding]:
    """Return the task at a position, followed by the asynchronous tasks after it if it is asynchronous."""
    end = position + 1
    if tasks[position].task.async_execution:
        while end < len(tasks) and tasks[end].task.async_execution:
            end += 1
    return tasks[position:end]


def node_task(node: str) -> str:
    """Return the task a node belongs to: its own, the one it skips, or the one it joins branches for."""
    return node.rpartition(" ")[2]


def _connect_frontier(graph: "StateGraph[Any]", frontier: _Frontier, target: str) -> None:
    if frontier.wait_for_all and target != END:
        graph.add_edge(list(frontier.nodes), target)
    else:
        for source in frontier.nodes:
            graph.add_edge(source, target)


@dataclass(frozen=True)
class _ReadSchema:
    """The part of the state that a task reads."""

    channels: tuple[str, ...]
    schema: Any


_BOOKKEEPING = ("spent", "task", "usage_by_model")


def _traced_update(update: Any) -> object:
    """Return a task's output without crewgraph's internal fields."""
    if not isinstance(update, dict):
        return update
    return {
        channel: {name: value for name, value in cast("PlainMapping", output).items() if name not in _BOOKKEEPING}
        if isinstance(output, dict)
        else output
        for channel, output in cast("PlainMapping", update).items()
    }


def task_metadata(assignment: TaskBinding) -> Metadata:
    """Return the metadata of a task's runs in traces and streams."""
    crew = assignment.crew.name if assignment.crew is not None else None
    return {"crew_name": crew, "task": assignment.slug, "agent_role": assignment.agent.template("role")}


class _Schemas:
    """The part of the state that each task reads.

    If each task read the whole state, tasks would get slower with their number; if each had a schema of its own for all
    earlier tasks, compile time would be quadratic. So tasks with many sources read a prefix whose length is a power of two:
    there are few prefixes, and none is more than twice as long as needed.
    """

    def __init__(self, slugs: Sequence[str]) -> None:
        self._slugs = slugs
        self._position = {slug: position for position, slug in enumerate(slugs)}
        self._prefixes: dict[tuple[int, bool], _ReadSchema] = {}

    def of(self, assignment: TaskBinding) -> _ReadSchema:
        sources, shared = assignment.sources, _shared_channels(assignment)
        others = assignment.conversation
        if len(sources) <= _MAX_OWN_SCHEMA:
            return _ReadSchema((*shared, *sources), schema(assignment.slug, [INPUTS, *shared, *sources], others))
        length = 1 << max(self._position[source] for source in sources).bit_length()
        key = length, assignment.converses
        if key not in self._prefixes:
            read = (*shared, *self._slugs[:length])
            self._prefixes[key] = _ReadSchema(read, schema(f"first_{length}", [INPUTS, *read], others))
        return self._prefixes[key]


def _shared_channels(assignment: TaskBinding) -> tuple[str, ...]:
    """Return the channels that every task of the crew reads, in addition to its inputs."""
    return () if assignment.plan_number is None else (PLANNING,)


def _conditional(
    graph: "StateGraph[Any]", frontier: _Frontier, assignment: TaskBinding, before: TaskBinding
) -> _Frontier:
    """Add a conditional edge to the task or to its skip node, from the nodes before it."""
    skip = f"skip {assignment.slug}"  # the space distinguishes it from names of tasks; see `node_task`
    graph.add_node(skip, _skip_node(assignment), input_schema=schema(skip, [INPUTS, *_shared_channels(assignment)]))
    sources = frontier.nodes
    if frontier.wait_for_all:  # a conditional edge has one source: join the branches first
        join = f"before {assignment.slug}"
        graph.add_node(join, _JOIN)
        _connect_frontier(graph, frontier, join)
        sources = (join,)
    choose = _condition(assignment, before, skip)
    for source in sources:
        graph.add_conditional_edges(source, choose, [assignment.slug, skip])
    return _Frontier((assignment.slug, skip))


def _no_update(_: _State) -> _State:
    return {}


_JOIN: Any = _no_update


def _skip_node(assignment: TaskBinding) -> Any:
    def skipped(state: _State) -> _State:
        return {assignment.slug: assignment.labelled(skipped_output(assignment, state).to_plain())}

    return skipped


def _condition(assignment: TaskBinding, before: TaskBinding, skip: str) -> Any:
    """Return the function of a conditional edge, which evaluates the condition on the output before the task."""
    task = assignment.task

    def evaluate(state: PlainMapping) -> Any:
        assert isinstance(task, ConditionalTaskDefinition)
        try:
            return task.should_execute(TaskOutput.from_plain(state[before.slug], before.task.output_pydantic))
        except BaseException as error:  # any error of the user's condition gets a note
            error.add_note(f"in the condition of {task.called}")
            raise

    def branch(result: Any) -> str:
        return assignment.slug if result else skip

    def choose(state: _State, config: RunnableConfig) -> str:
        return branch(call(evaluate, state))

    async def achoose(state: _State, config: RunnableConfig) -> str:
        return branch(await acall(evaluate, state))

    # LangGraph reads this annotation: without it, the branch would only get what the node before it reads.
    choose.__annotations__["state"] = schema("judged", [before.slug])
    return RunnableCallable(choose, achoose, name=f"if {assignment.slug}", trace=False)


@dataclass(frozen=True, kw_only=True)
class Granularity:
    """How a crew is compiled."""

    granularity: str = "task"
    """"task": a node per task; "step": a subgraph per task with a node per step."""

    stored: bool = True
    """False where the graph is compiled without a checkpointer."""

    before: tuple[str, ...] = ()
    """Nodes to interrupt before: tasks, steps, and steps of one task as `task:step`."""

    after: tuple[str, ...] = ()
    """Nodes to interrupt after."""

    context_schema: type[Any] | None = None
    """The context that runs may be given."""

    channels: Mapping[str, object] = field(default_factory=dict[str, object])
    """The channels other than inputs and tasks, with their types."""

    def node(self, assignment: TaskBinding, sources: Sequence[str]) -> Any:
        """Return the node of a task that reads some channels."""
        if self.granularity == "step":
            return step_graph(
                assignment,
                sources,
                stored=self.stored,
                before=_stops_of_task(self.before, assignment),
                after=_stops_of_task(self.after, assignment),
            )
        body = partial(task_body, assignment)
        return BodyNode(assignment.slug, body, stored=self.stored, seals=True, traced=_traced_update)

    def planning(self, planning: TaskBinding, tasks: Sequence[TaskBinding]) -> Any:
        """Return the node that makes the plan; it has no steps."""
        return BodyNode(planning.slug, partial(crew_plan_body, planning, tasks), stored=self.stored, seals=True)

    def tasks(self, names: Sequence[str], tasks: Sequence[TaskBinding]) -> list[str]:
        """Return those names that are tasks.

        Raises:
            CompileError: a name is neither a task nor a step.
        """
        slugs = [
            *([PLANNING] if tasks and tasks[0].plan_number is not None else []),
            *(assignment.slug for assignment in tasks),
        ]
        steps = STAGES if self.granularity == "step" else ()
        names_of_nodes = {*slugs, *steps, *(f"{assignment.slug}:{step}" for assignment in tasks for step in steps)}
        if _ALL in names:
            return slugs
        for name in names:
            if name not in names_of_nodes:
                listed = ", ".join(f"`{assignment}`" for assignment in (*slugs, *steps))
                hint = "" if steps else ', and with `granularity="step"` the steps of tasks'
                raise CompileError(f"there is no node `{name}` to stop at; the nodes are {listed}{hint}.")
        return [name for name in names if name in slugs]


def _stops_of_task(names: Sequence[str], assignment: TaskBinding) -> list[str]:
    if _ALL in names:
        return list(STAGES)
    prefix = f"{assignment.slug}:"
    return [name.removeprefix(prefix) for name in names if name in STAGES or name.startswith(prefix)]


def crew_graph(
    crew: CrewDefinition,
    tasks: Sequence[TaskBinding] | None = None,
    form: Granularity | None = None,
    planning: TaskBinding | None = None,
) -> "StateGraph[Any]":
    """Build the graph of a crew: a node per task; its state holds `inputs` and a channel per task, written once.

    A crew that plans has a node before them, whose channel is not part of the graph's output.

    Args:
        crew: the crew.
        tasks: its bound tasks, if the caller has bound them.
        form: how it is compiled; a node per task by default.
        planning: the bound planning task, if the caller has bound it.

    Raises:
        CompileError: the crew has no tasks or agents, or uses an unsupported feature.
    """
    if not crew.tasks:
        raise CompileError("the crew has no tasks; give it `tasks=[...]`.")
    if faults := validate_crew(crew):  # may have changed since the crew was created
        raise CompileError("\n".join(map(str, faults)))
    check_crew(crew)
    warn_without_effect(crew)
    tasks = tasks or bind_tasks(crew)
    planning, form = planning or planning_binding(crew, tasks), form or Granularity()
    outputs = [assignment.slug for assignment in tasks]
    graph: StateGraph[Any] = StateGraph(
        schema("CrewState", [INPUTS, *([PLANNING] if planning else []), *outputs], form.channels),
        input_schema=schema(
            "CrewInput", [INPUTS], {name: form.channels[name] for name in form.channels if name == MESSAGES}
        ),
        output_schema=schema(
            "CrewResult", outputs, {name: form.channels[name] for name in form.channels if name != UPDATES}
        ),
        context_schema=form.context_schema,
    )
    if planning is None:
        wire_sequential(graph, tasks, form.node)
    else:
        node = form.planning(planning, tasks)
        graph.add_node(PLANNING, node, input_schema=schema(PLANNING, [INPUTS]), metadata=task_metadata(planning))
        graph.add_edge(START, PLANNING)
        wire_sequential(graph, tasks, form.node, first=PLANNING)
    return graph


def check_continues(
    graph: CompiledStateGraph[Any], saved: CheckpointTuple, done: Collection[str], *, can_fork: bool = True
) -> None:
    """Check that a crew can continue a stored run: LangGraph would end it silently where a node is missing.

    Args:
        graph: the crew's graph.
        saved: the run's checkpoint.
        done: the tasks that need not run.
        can_fork: whether the run is stored where `crew.fork` finds it.

    Raises:
        DefinitionChanged: the crew has been edited since, so that some of its tasks would not run.
    """
    values = saved.checkpoint["channel_values"]
    if pending_input(values) is not None:
        return
    order = list(dict.fromkeys(map(node_task, graph.builder.nodes)))
    following = list(dict.fromkeys(map(node_task, coming(values))))  # also those that have ended while others have not
    unknown = [node_task(node) for node in coming(values) if node not in graph.nodes]
    runs = {node_task(node) for node in reached(graph, saved)}
    missing = [name for name in order if name not in done and name not in runs]
    if not unknown and not missing:
        return
    coming_task = next((name for name in following if name not in done), following[0] if following else None)
    if unknown:
        problem = f"continues with task `{unknown[0]}`, which the crew does not have"
    elif not following:
        problem = f"is done, and has no output of task `{missing[0]}`"
    elif missing[0] in following:
        problem = f"continues with task `{missing[0]}`, which now waits for other tasks"
    elif order.index(missing[0]) < min(map(order.index, following)):
        problem = f"continues with task `{coming_task}`, and has no output of task `{missing[0]}` before it"
    else:
        problem = f"continues with task `{coming_task}`, and would end without task `{missing[0]}`"
    place: PlainMapping = saved.config.get("configurable") or {}
    thread, first = str(place["thread_id"]), next((name for name in order if name not in done), None)
    fork = f"crew.fork({first!r}, thread_id={thread!r})" if can_fork and first is not None else None
    raise DefinitionChanged(
        f"the run of thread `{thread}` {problem}: the crew has changed since, and nothing was run. Resume with the "
        "tasks that the run began with (a task without a `name` is known by its description)"
        + (f", or run the others in a new thread: `{fork}`." if fork else ".")
    )
