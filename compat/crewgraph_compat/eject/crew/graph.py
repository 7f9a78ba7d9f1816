"""A crew as a graph: its state, a node for each task, its edges, and the output that the user's functions receive."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from crewgraph.compiler.task.binding import bind_tasks
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.task.task import ConditionalTaskDefinition
from crewgraph.errors import CrewgraphError
from crewgraph_compat.eject.crew.agents import note_reused_results
from crewgraph_compat.eject.crew.callbacks import CallbackInputs, KickoffCallbacks
from crewgraph_compat.eject.crew.planning import CrewPlanNode
from crewgraph_compat.eject.crew.task import TaskWriter
from crewgraph_compat.eject.refusals import refuse_agent, refuse_crew, refuse_task
from crewgraph_compat.eject.writing.parts import ProgramWriters
from crewgraph_compat.eject.writing.sheet import class_name, doc_line, output_methods


@dataclass(frozen=True)
class CrewNode:
    """A task in the graph: its node, and the function that reports whether a conditional task runs."""

    node: str
    is_async: bool = False
    choose: str = ""


@dataclass(frozen=True)
class CrewEdge:
    """A conditional edge: its source, its function and its targets."""

    source: str
    chain: "tuple[CrewNode, ...]"
    """The conditional tasks it may lead to; the first whose condition holds is chosen."""

    following: "tuple[CrewNode, ...]"
    """The node after them; empty at the end."""

    targets: tuple[str, ...]


def edge_lines(
    stops: Sequence[CrewNode], builder: str, begin: str = "START", end: str = "END"
) -> tuple[list[str], list[CrewEdge], str | None]:
    """Return the lines that connect the tasks in order.

    Args:
        stops: the task nodes in order.
        builder: the name of the graph builder.
        begin: the node before them, or `START`.
        end: the node after them, or `END`.

    Returns:
        The lines, the conditional edges among them, and the name of a node in which branches meet, where one is needed.
    """
    lines: list[str] = []
    ways: list[CrewEdge] = []
    meeting: str | None = None
    ends: list[str] = [_node_literal(begin, "START")]
    at = 0
    while at < len(stops):
        if stops[at].choose:
            if len(ends) > 1:
                meeting = f"before_{stops[at].node}"
                lines += [f'{builder}.add_node("{meeting}", {meeting})', _edge(builder, ends, f'"{meeting}"')]
                ends = [f'"{meeting}"']
            chain, following = _chain(stops, at)
            targets = (*(entry.node for entry in chain), *([entry.node for entry in following] or [end]))
            ways.append(CrewEdge(ends[0], tuple(chain), tuple(following), targets))
            names = ", ".join(_node_literal(target, "END") for target in targets)
            lines.append(f"{builder}.add_conditional_edges({ends[0]}, {stops[at].choose}, [{names}])")
            ends = [f'"{stops[at].node}"']
            at += 1
            continue
        group = _group(stops, at)
        for item in group:
            lines.append(_edge(builder, ends, f'"{item.node}"'))
        ends = [f'"{entry.node}"' for entry in group]
        at += len(group)
    if end == "END":
        lines += [f"{builder}.add_edge({entry}, END)" for entry in ends]
    else:
        lines.append(_edge(builder, ends, f'"{end}"'))
    return lines, ways, meeting


def _chain(stops: Sequence[CrewNode], at: int) -> tuple[Sequence[CrewNode], Sequence[CrewNode]]:
    """Return the conditional tasks from an index on, and the nodes that follow them."""
    end = at
    while end < len(stops) and stops[end].choose:
        end += 1
    return stops[at:end], _group(stops, end)


def _group(stops: Sequence[CrewNode], at: int) -> Sequence[CrewNode]:
    """Return the task at an index, with the asynchronous tasks that directly follow it if it is asynchronous too."""
    end = min(at + 1, len(stops))
    if at < len(stops) and stops[at].is_async and not stops[at].choose:
        while end < len(stops) and stops[end].is_async and not stops[end].choose:
            end += 1
    return stops[at:end]


def _node_literal(node: str, constant: str) -> str:
    return node if node == constant else f'"{node}"'


def _edge(builder: str, sources: Sequence[str], target: str) -> str:
    source = sources[0] if len(sources) == 1 else f"[{', '.join(sources)}]"
    return f"{builder}.add_edge({source}, {target})"


_RANK = 2
_FIELDS = {
    "pydantic": ("Any", "None"),
    "json_dict": ("Any", "None"),
    "tasks_output": ("Sequence[TaskOutput]", "()"),
}


class CrewOutputDataclass:
    """Write the `CrewOutput` class for functions that receive it.

    Args:
        parts: the program and the writers of its parts.
    """

    def __init__(self, parts: ProgramWriters) -> None:
        self._parts = parts

    def construction(self, program: "CrewProgram") -> str:
        """Return the expression that creates a crew's output from `state`; the first call writes the class."""
        fields = self._fields_read()
        if self._parts.sheet.helper("CrewOutput") is None:
            self._write(fields)
        words = [f"raw={program.result()}"]
        data, task = program.last.data, program.last.assignment.task
        structure = "json_dict" if task.output_json else "pydantic"
        if data is not None and structure in fields:
            words.append(f'{structure}=state["{data}"]')
        if "tasks_output" in fields:
            listed = ", ".join(item.output_in("state") for item in program.tasks)
            words.append(f"tasks_output=[{listed}]")
        return f"CrewOutput({', '.join(words)})"

    def _fields_read(self) -> list[str]:
        sources = self._parts.lifter.sources
        if any(".token_usage" in text for text in sources):
            why = "count it with LangChain's `UsageMetadataCallbackHandler`"
            self._parts.refusals.add("`token_usage`, which a function looks at", why)
        methods, _ = output_methods(sources, ())
        wanted = {"pydantic", "json_dict"} if methods else set[str]()
        return [field for field in _FIELDS if field in wanted or any(f".{field}" in text for text in sources)]

    def _write(self, fields: list[str]) -> None:
        sheet, sources = self._parts.sheet, self._parts.lifter.sources
        sheet.names.take("CrewOutput")
        sheet.name_helper("CrewOutput", "CrewOutput")
        sheet.use("dataclasses", "dataclass")
        if {"pydantic", "json_dict"} & set(fields):
            sheet.use("typing", "Any")
        if "tasks_output" in fields:
            sheet.use("collections.abc", "Sequence")
            self._parts.outputs.name()
        listed = "".join(f"    {item}: {_FIELDS[item][0]} = {_FIELDS[item][1]}\n" for item in fields)
        methods, modules = output_methods(sources, [field for field in ("pydantic", "json_dict") if field in fields])
        for module in modules:
            sheet.module(module)
        # Functions that receive the output may set its fields.
        frozen = "" if any(".raw = " in text or ".raw += " in text for text in sources) else "(frozen=True)"
        sheet.add(
            f'@dataclass{frozen}\nclass CrewOutput:\n    """The output of a crew."""\n\n    raw: str\n'
            f"{listed}\n    def __str__(self) -> str:\n        return self.raw\n{methods}",
            _RANK,
        )


_STATE, _NODE, _GRAPH = 7, 8, 9


@dataclass(frozen=True)
class CrewProgram:
    """The names of a crew's parts in the program."""

    graph: str
    inputs_class: str
    """The class of the inputs."""

    inputs: tuple[str, ...]
    tasks: tuple[TaskWriter, ...] = field(repr=False)
    optional: tuple[str, ...] = ()
    """The optional inputs."""

    is_finished: bool = False
    """Whether a node after the tasks provides the result."""

    @property
    def last(self) -> TaskWriter:
        """The last task."""
        return self.tasks[-1]

    def result(self) -> str:
        """Return the expression for the result in `state`: the text of the last task that was not skipped."""
        if self.is_finished:
            return 'state["result"]'
        if not self.last.is_optional:
            return self.last.read_from("state")
        read = ", ".join(f'state.get("{task.slug}")' for task in reversed(self.tasks))
        return f"next(text for text in ({read}) if text is not None)"


class CrewWriter:
    """Write one crew.

    Args:
        crew: the crew.
        parts: the program and the writers of its parts.
        prefix: the prefix of the state and graph names if there are several crews.
    """

    def __init__(self, crew: CrewDefinition, parts: ProgramWriters, prefix: str = "") -> None:
        self.crew, self._parts, self._prefix = crew, parts, prefix
        self._tasks: list[TaskWriter] = []
        self._inputs: tuple[str, ...] = ()
        self._around, self._given = KickoffCallbacks(crew, parts), CallbackInputs((), ())
        self._plan: CrewPlanNode | None = None

    def read(self) -> None:
        """Inspect the crew and add the user's code, before any generated code is written."""
        crew, parts = self.crew, self._parts
        refuse_crew(crew, parts.refusals)
        try:
            result = bind_tasks(crew)
        except CrewgraphError as error:
            parts.refusals.add(f"crew `{crew.name}`", str(error))
            return
        for item in result:
            refuse_task(item.task, parts.refusals)
            refuse_agent(item.agent, item, parts.refusals)
            note_reused_results(item, parts.pieces.loop)
        inputs = {
            *crew.fetch_inputs(),
            *(name for entry in result for name in entry.task.open_placeholders("output_file")),
        }
        self._given = CallbackInputs(inputs, crew.before_kickoff_callbacks)
        self._inputs = tuple(sorted(inputs | set(self._given.known)))
        self._around.read()
        graph_of = {entry.slug: n for n, entry in enumerate(result)}
        for item in result:
            self._tasks.append(TaskWriter(item, parts, self._inputs, [self._tasks[graph_of[s]] for s in item.sources]))
        for item in self._tasks:
            item.read()
        if crew.planning:
            self._plan = CrewPlanNode(crew, result, parts, self._inputs)

    def write(self) -> CrewProgram:
        """Write the crew."""
        parts, names = self._parts, self._parts.sheet.names
        state = names.new(f"{class_name(self._prefix) if self._prefix else ''}State", "OfCrew")
        inputs = names.new(state.removesuffix("State") + "Inputs", "OfCrew")
        for task in self._tasks:
            task.state = state
            task.is_optional = isinstance(task.assignment.task, ConditionalTaskDefinition)
        value = self._given
        taken = (*value.needed, *value.optional)
        program = CrewProgram("", inputs, taken, tuple(self._tasks), tuple(value.optional))
        has_end = self._around.name_end()
        self._write_state(state, inputs, has_end=has_end)
        self._around.write_begin(inputs)
        if self._plan is not None:
            self._plan.write(state)
        for task in self._tasks:
            parts.sheet.add(task.node(), _NODE)
        if has_end:
            self._around.write_end(state, CrewOutputDataclass(parts).construction(program))
        graph = self._write_graph(state, inputs)
        return replace(program, graph=graph, is_finished=has_end)

    def _write_state(self, state: str, inputs: str, *, has_end: bool) -> None:
        sheet, value = self._parts.sheet, self._given
        sheet.use("typing", "TypedDict")
        lines = [f"    {_key(name)}: str" for name in value.needed]
        lines += [f"    {_key(name)}: NotRequired[str]" for name in value.optional]
        doc = "The inputs of the crew." if lines else "The inputs of the crew: none."
        sheet.add(f'class {inputs}(TypedDict):\n    """{doc}"""\n\n' + "\n".join(lines), _STATE)
        keys = [f"{_key(name)}: Any" for name in value.created]
        for task in self._tasks:
            keys += task.keys()
        keys += ["plans: list[str]"] if self._plan is not None else []
        keys += ["result: str"] if has_end else []
        if any("NotRequired" in key for key in (*keys, *lines)):
            sheet.use("typing", "NotRequired")
        if value.created:
            sheet.use("typing", "Any")
        listed = "\n".join(f"    {key}" for key in keys)
        sheet.add(f'class {state}({inputs}):\n    """The inputs, and the outputs of the tasks."""\n\n{listed}', _STATE)

    def _write_graph(self, state: str, inputs: str) -> str:
        sheet = self._parts.sheet
        sheet.use("langgraph.graph", "END", "START", "StateGraph")
        prefix = f"{self._prefix}_" if self._prefix else ""
        builder, graph = sheet.names.new(f"{prefix}builder"), sheet.names.new(f"{prefix}graph")
        stops = [self._stop(task) for task in self._tasks]
        before = [name for name in (self._around.begin, "" if self._plan is None else self._plan.node) if name]
        begin, end = before[-1] if before else "START", self._around.end or "END"
        lines, ways, meeting = edge_lines(stops, builder, begin, end)
        lines[:0] = [
            f'{builder}.add_edge({_node_literal(source, "START")}, "{target}")'
            for source, target in zip(("START", *before), before, strict=False)
        ]
        if end != "END":
            lines.append(f'{builder}.add_edge("{end}", END)')
        if meeting is not None:
            sheet.names.take(meeting)
            message = '"""Join the parallel tasks."""'
            sheet.use("typing", "Any")
            sheet.add(f"def {meeting}(state: {state}) -> dict[str, Any]:\n    {message}\n    return {{}}", _NODE)
        for way in ways:
            self._write_conditional_edge(way, state, end)
        around = [
            [f'{builder}.add_node("{item}", {item})' for item in items]
            for items in (before, [self._around.end] if self._around.end else [])
        ]
        tasks = [f'{builder}.add_node("{task.slug}", {task.function})' for task in self._tasks]
        nodes = [*around[0], *tasks, *around[1]]
        compiled = f"{builder}.compile()" if self._prefix else self._parts.compiled(builder)
        built = f"{builder} = StateGraph({state}, input_schema={inputs})"
        sheet.add("\n".join([built, *nodes, *lines, f"{graph} = {compiled}"]), _GRAPH)
        return graph

    def _stop(self, writer: TaskWriter) -> CrewNode:
        choose = writer.choice if isinstance(writer.assignment.task, ConditionalTaskDefinition) else ""
        return CrewNode(writer.slug, bool(writer.assignment.task.async_execution), choose)

    def _write_conditional_edge(self, way: CrewEdge, state: str, end: str) -> None:
        """Write the function of a conditional edge."""
        sheet, by_slug = self._parts.sheet, {item.slug: item for item in self._tasks}
        first = by_slug[way.chain[0].node]
        before = self._tasks[self._tasks.index(first) - 1]
        lines: list[str] = []
        seen = before.output_in("state")
        for stop in way.chain:
            task = by_slug[stop.node]
            lines += [f"    if {task.condition}({seen}):", f'        return "{task.slug}"']
            seen = task.skipped()
        after = [f'"{item.node}"' for item in way.following]
        if len(after) > 1:
            sheet.use("collections.abc", "Sequence")
        onward = (
            f"[{', '.join(after)}]" if len(after) > 1 else "".join(after) or ("END" if end == "END" else f'"{end}"')
        )
        lines.append(f"    return {onward}")
        if len(after) == 1:
            sheet.use("typing", "Literal")
            names = ", ".join(f'"{target}"' for target in way.targets)
            returned = f"Literal[{names}]"
        else:
            returned = "str | Sequence[str]" if after else "str"
        summary = doc_line(f"Return the next node: {first.slug} if its condition holds")
        sheet.add(f'def {first.choice}(state: {state}) -> {returned}:\n    """{summary}"""\n' + "\n".join(lines), _NODE)


def _key(name: str) -> str:
    return name.replace("-", "_")
