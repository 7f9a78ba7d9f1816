"""The compiled graphs of a crew and what its runs need, kept until the crew changes."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langgraph.graph.state import CompiledStateGraph

from crewgraph.compiler.crew.graph import Granularity, crew_graph
from crewgraph.compiler.crew.inputs import CrewRunContext, crew_input
from crewgraph.compiler.crew.metered_graph import check_budgets, metered
from crewgraph.compiler.crew.needs import Needs, needs_of
from crewgraph.compiler.crew.planning import crew_plan_key, planning_binding
from crewgraph.compiler.crew.result import conversation_placeholder, result_channels, write_result
from crewgraph.compiler.preflight import check_crew
from crewgraph.compiler.surroundings import AROUND
from crewgraph.compiler.task.binding import Lessons, TaskBinding, bind_tasks, crew_graph_key, lessons_of
from crewgraph.core.pregel import node_name
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.revision import Revision
from crewgraph.definitions.task.output import set_fields
from crewgraph.errors import CompileError
from crewgraph.runtime.runs.metadata import crew_labels, program_labels
from crewgraph.runtime.runs.storage import checkpointer_of_graph

Graph = CompiledStateGraph[Any]


@dataclass(frozen=True)
class CrewGraph:
    """A crew's compiled graph, the tasks of its nodes, and what its runs need."""

    graph: Graph
    tasks: Sequence[TaskBinding]
    planning: TaskBinding | None
    """The planning task, if any."""

    needs: Needs
    revision: Revision
    """What the definitions held when they were checked."""

    labels: Mapping[str, object]
    """The metadata of its runs."""


def compile_crew(
    crew: CrewDefinition,
    *,
    granularity: str = "task",
    checkpointer: Any = None,
    store: Any = None,
    cache: Any = None,
    interrupt_before: Sequence[str] = (),
    interrupt_after: Sequence[str] = (),
    name: str | None = None,
    messages: bool | str = False,
    context_schema: type[Any] | None = None,
) -> Graph:
    """Compile a crew to a graph for the caller; see `Crew.compile`."""
    check_crew(crew)
    converses = messages is not False
    tasks = _bind_with_lessons(crew, lessons_of(crew), converses=converses) if crew.tasks else []
    crew_inputs = crew_input(tasks)
    placeholder = conversation_placeholder(messages, crew_inputs.placeholders)
    tasks = [replace(binding, conversed=placeholder) for binding in tasks]
    channels = result_channels(tasks, messages=placeholder is not None)
    form = Granularity(
        granularity=_checked_granularity(granularity),
        stored=checkpointer is not False,
        before=_node_names(interrupt_before),
        after=_node_names(interrupt_after),
        channels=channels,
        context_schema=context_schema or CrewRunContext,
    )
    graph = crew_graph(crew, tasks, form)
    compiled = graph.compile(
        checkpointer=checkpointer_of_graph(checkpointer),
        store=store,
        cache=cache,
        interrupt_before=form.tasks(form.before, tasks),
        interrupt_after=form.tasks(form.after, tasks),
        name=node_name((crew.name or "crew") if name is None else name),
    )
    states = [str(name) for name in graph.channels]
    write_result(compiled, tasks, channels, compiled.name)
    run_name = f"Crew: {crew.name}" if name is None else name
    agents = tuple(binding.agent for binding in tasks if binding.converses)
    input_form = replace(crew_inputs, channels=frozenset(states), conversed=placeholder, conversing=agents)
    return metered(compiled, crew, input_form, run_name)


def _node_names(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def graph_of(crew: CrewDefinition, checkpointer: Any, granularity: str = "task") -> CrewGraph:
    """Return the graph that runs a crew; the crew is checked and compiled again only if it has changed.

    Args:
        crew: the crew.
        checkpointer: where its runs are stored.
        granularity: the unit of a node: "task" or "step".

    Raises:
        CompileError: the crew cannot become a graph.
    """
    if crew.training:
        _check_trains(crew)
    lessons = lessons_of(crew)
    # What is cached holds the crew and the checkpointer, so their ids cannot be reused. A shallow copy shares the cache.
    form = (id(crew), lessons, id(checkpointer), granularity)
    current: CrewGraph | None = crew.derived.get(form)
    if current is None or not current.revision.is_current():
        current = _checked(crew, lessons, checkpointer, granularity)
        # How applications and MCP servers are found is not in the definitions: such a crew is checked for each run.
        if not any(agent.apps or agent.mcps for agent in current.needs.agents):
            crew.derived.put(form, current)
    set_fields(crew, planning_tasks=[] if current.planning is None else [current.planning.task])
    return current


def _checked(crew: CrewDefinition, lessons: Lessons, checkpointer: Any, granularity: str) -> CrewGraph:
    """Check a crew, and compile it unless its graph is the same as that of a former run."""
    check_crew(crew)
    check_budgets(crew)
    key: Hashable = (crew_graph_key(crew), crew_plan_key(crew), lessons, id(checkpointer), granularity)
    compiled: tuple[Graph, Sequence[TaskBinding], TaskBinding | None] | None = crew.derived.get(key)
    if compiled is None:
        tasks = _bind_with_lessons(crew, lessons)
        planning = planning_binding(crew, tasks)
        form = Granularity(granularity=_checked_granularity(granularity), stored=checkpointer is not False)
        graph = crew_graph(crew, tasks, form, planning)
        compiled = metered(graph.compile(checkpointer=checkpointer), crew), tasks, planning
        crew.derived.put(key, compiled)
    graph, tasks, planning = compiled
    needs = needs_of(crew, tasks, planning)
    revision = Revision([crew, *needs.agents, *crew.tasks])
    labels = crew_labels(crew.name, tasks)
    return CrewGraph(
        graph, tasks, planning, needs, revision, labels if checkpointer is False else program_labels(labels)
    )


def _check_trains(crew: CrewDefinition) -> None:
    training = AROUND.get().training
    if training is None or training.crew is not crew:
        raise CompileError(
            "`training` of the crew marks it as in training. `crew.train(n_iterations, filename)` sets it while training; leave "
            "it out otherwise."
        )


def _bind_with_lessons(crew: CrewDefinition, lessons: Lessons, *, converses: bool = False) -> list[TaskBinding]:
    return [replace(bind_task, lessons=lessons) for bind_task in bind_tasks(crew, converses=converses)]


def _checked_granularity(granularity: str) -> str:
    if granularity not in ("task", "step"):
        raise CompileError(
            f'`granularity` is {granularity!r}; pass "task" (a node per task) or "step" (a graph per task).'
        )
    return granularity
