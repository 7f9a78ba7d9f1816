"""Flows as compiled LangGraph graphs, and how these are drawn: methods, and labels between them."""

import warnings
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, cast
from uuid import uuid4

from langchain_core.runnables import RunnableConfig, RunnablePassthrough
from langchain_core.runnables.config import ensure_config
from langchain_core.runnables.graph import Graph
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, StateSnapshot, StateUpdate
from pydantic import TypeAdapter
from typing_extensions import TypedDict

from crewgraph.compiler.flow.algebra import Progress, advanced, initial_progress, labels_of
from crewgraph.compiler.flow.completion import under
from crewgraph.compiler.flow.execution import unknown_inputs
from crewgraph.compiler.flow.nodes import RUN, WAIT, MethodNode, WaitNode
from crewgraph.compiler.flow.plan import TriggerPlan
from crewgraph.compiler.flow.run import FlowRun
from crewgraph.compiler.flow.single_node import WHOLE, WholeNode, caught_up
from crewgraph.compiler.flow.state_changes import ANEW, applied
from crewgraph.core.journal import appended_in
from crewgraph.core.pregel import place_of, untraced
from crewgraph.core.saving import InlineGraph
from crewgraph.definitions.flow.definition import FlowDefinition
from crewgraph.definitions.flow.flow import Flow
from crewgraph.definitions.flow.method import texts_in_code
from crewgraph.definitions.run_options import Inputs
from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import CompileError

__all__ = ["FlowForm", "FlowGraph", "ShownAsFlow", "draw_graph", "edges_of"]


def edges_of(plan: TriggerPlan) -> Iterator[tuple[str, str, str | None]]:
    """The ways through a flow: from which method, to which, and the label that leads there, if one does."""
    for name in plan.methods:
        for event in (*sorted(plan.triggers[name]), *sorted(plan.again[name])):
            if event in plan.methods:
                if event in plan.triggers[name]:
                    yield event, name, None
                sources = [one.name for one in plan.methods.values() if one.is_router and event in one.labels]
            else:
                sources = _sources(plan, event)
            for source in sources:
                yield source, name, event


def _sources(plan: TriggerPlan, label: str) -> list[str]:
    """Who fires a label; routers whose labels nobody knows may fire any that nobody else does."""
    known = [
        name
        for name, method in plan.methods.items()
        if (method.is_router or label in plan.said) and (label in method.labels or label in texts_in_code(method.func))
    ]
    return known or [name for name, method in plan.methods.items() if method.is_router and not method.labels]


def draw_graph(plan: TriggerPlan) -> Graph:
    """The drawing."""
    graph = Graph()
    nodes = {name: graph.add_node(RunnablePassthrough(), name) for name in (START, *plan.methods, END)}
    for name in plan.starts:
        graph.add_edge(nodes[START], nodes[name], conditional=plan.methods[name].predicate is not None)
    ends = dict.fromkeys(plan.methods)
    for source, target, label in dict.fromkeys(edges_of(plan)):
        graph.add_edge(nodes[source], nodes[target], data=label, conditional=label is not None)
        ends.pop(source, None)
    for name in ends:
        graph.add_edge(nodes[name], nodes[END])
    return graph


class ShownAsFlow:
    """Shows the flow; LangGraph would ask a server on the network for a picture."""

    flow: "Flow"
    """The flow."""

    def _repr_mimebundle_(self, include: Any = None, exclude: object = None, **kwargs: object) -> dict[str, str]:
        """What a notebook takes from: the drawing, else the mermaid text."""
        text = self.flow.to_mermaid()
        return {
            "text/plain": repr(self),
            "text/html": self.flow._repr_html_(),  # pyright: ignore[reportPrivateUsage]
            "text/markdown": f"```mermaid\n{text}```\n",
        }


_WHOLE = "flow"


class _Channels(TypedDict, total=False):
    """The state of the graph."""

    inputs: dict[str, Any]
    """What the run was given."""

    state: Annotated[dict[str, Any], applied]
    """The flow's state, as plain data."""

    progress: Progress
    """How far it is."""

    parked: dict[str, object]
    """The questions that the run waits to be answered, by their ids."""

    answers: dict[str, object]
    """What was answered to methods that are to run again."""

    feedback: dict[str, Any]
    """What people said of outputs, and in which run."""

    outputs: dict[str, Any]
    """What the methods of a declared flow returned, and in which run."""

    saved: dict[str, Any]
    """State and progress as of the last method that is persisted, where only some are."""

    unsaved: dict[str, object] | None
    """The method after which a backend could not save the state, and in which run."""

    output: Any
    """What the last method returned."""


class _Given(TypedDict, total=False):
    """What a run is given."""

    inputs: dict[str, Any]


class _Returned(TypedDict, total=False):
    state: dict[str, Any]
    output: Any


@dataclass(frozen=True)
class FlowForm:
    """What all graphs of a flow's class have in common; compiled once, for that takes longer than many runs."""

    plan: TriggerPlan
    base: CompiledStateGraph[Any]
    granularity: str
    """"method" for a node for each method, "flow" for one node for all."""

    @classmethod
    def of(cls, definition: FlowDefinition, granularity: str) -> "FlowForm":
        """The form of a definition."""
        plan = TriggerPlan(definition)
        graph: Any = StateGraph(_Channels, output_schema=_Returned)
        if granularity == _WHOLE:
            graph.add_node(WHOLE, WholeNode())
            graph.add_conditional_edges(START, _whole, [WHOLE, END])
            return cls(plan, _compiled(graph), granularity)
        for name in plan.methods:
            graph.add_node(name, MethodNode(name))
        graph.add_node(WAIT, WaitNode())
        graph.add_conditional_edges(START, _first, [*plan.methods, END])
        return cls(plan, _compiled(graph), granularity)

    def graph(self, flow: "Flow", *, checkpointer: Any = None, store: object = None, **wishes: object) -> "FlowGraph":
        """The graph of a flow.

        Args:
            flow: the flow.
            checkpointer: where its runs are kept.
            store: a LangGraph store for its methods.
            wishes: other arguments of LangGraph's `compile`.

        Raises:
            CompileError: it is to stop at methods, which are no nodes.
        """
        stops = [name for name in ("interrupt_before", "interrupt_after") if wishes.get(name)]
        if self.granularity == _WHOLE and stops:
            raise CompileError(
                f'`{stops[0]}` stops at nodes, and with `granularity="flow"` one node runs all methods of flow '
                f'`{flow.flow_name}`. Compile it with `granularity="method"`.'
            )
        base = _compiled(self.base.builder, **wishes) if wishes else self.base
        name = f"Flow: {flow.flow_name}"
        kept = {**vars(base), "checkpointer": checkpointer, "store": store, "name": name}
        return FlowGraph(flow=flow, form=self, **kept)


def _compiled(graph: "StateGraph[Any]", **wishes: Any) -> CompiledStateGraph[Any]:
    """A graph whose nodes leave the trace to the methods, which begin in one node and may end in another."""
    compiled = graph.compile(**wishes)
    untraced(compiled, *graph.nodes)
    return compiled


def _run_name() -> str:
    """A name that no other run of the same state has."""
    return uuid4().hex[:12]


def _whole(state: Mapping[str, Any]) -> str:
    return WHOLE if state["progress"]["inflight"] else END


def _first(state: Mapping[str, Any]) -> list[str]:
    progress: Progress = state["progress"]
    return [one["method"] for one in progress["inflight"].values()] or [END]


class FlowGraph(ShownAsFlow, InlineGraph):
    """The compiled graph of a flow: it begins a run of the flow whenever it is invoked, and draws the flow, not its machinery.

    Args:
        flow: the flow.
        form: what all graphs of its class have in common.
        kept: what makes a `CompiledStateGraph`.
    """

    def __init__(self, *, flow: "Flow", form: FlowForm, **kept: Any) -> None:
        super().__init__(**kept)
        self.flow, self.form = flow, form  # what stands in `vars` is what LangGraph's `copy` gives to this again

    @property
    def plan(self) -> TriggerPlan:
        """What the flow's triggers come to."""
        return self.form.plan

    @property
    def granularity(self) -> str:
        """What its nodes are: "method" or "flow"."""
        return self.form.granularity

    @property
    def is_whole(self) -> bool:
        """Whether one node runs all methods."""
        return self.granularity == _WHOLE

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Run, and tell; see LangGraph."""
        input, config = self._opened(input, config)
        yield from super().stream(input, config, **kwargs)

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """Run on this event loop, and tell; see LangGraph."""
        input, config = self._opened(input, config)
        async for part in super().astream(input, config, **kwargs):
            yield part

    def _opened(self, given: Any, config: RunnableConfig | None) -> tuple[Any, RunnableConfig]:
        """What the run is given, and a config that holds its living side."""
        own: dict[str, Any] = dict((config or {}).get("configurable") or {})
        run: FlowRun | None = own.get(RUN)
        if run is None or run.flow is not self.flow:
            run = self._run_in(ensure_config(config))
        told: object = given
        if isinstance(given, Mapping) and "progress" not in given:
            inputs: Inputs = cast("Mapping[str, Any]", given).get("inputs") or {}
            # LangGraph gives a node's input to a graph that goes on, too, and looks at it only where nothing is kept.
            goes_on = run.stored and place_of(ensure_config(config)).again
            told = self.begun(self._run_in(ensure_config(config)) if goes_on else run, inputs)
            run.inputs = dict(inputs)
        opened: RunnableConfig = {**(config or {}), "configurable": {**own, RUN: run}}
        return told, opened

    def _run_in(self, config: RunnableConfig) -> FlowRun:
        """A run in a graph of the caller's own, or in a node of one."""
        around = place_of(config)
        saver = cast("Any", around.saver if self.checkpointer in (None, True) else self.checkpointer or None)
        run = FlowRun(self.flow, self.plan, None, {}, stored=saver is not None)
        run.is_shown = False
        run.saver, run.thread_id = saver, "/".join(filter(None, [around.thread, around.task]))
        return run

    def begun(self, run: FlowRun, inputs: Inputs) -> dict[str, Any]:
        """The state of the graph at the beginning of a run."""
        if run.state is None:
            run.state = self.flow.new_state(inputs) if run.is_shown else self.flow.detached_state(inputs)
        run.inputs = dict(inputs)
        for told in unknown_inputs(self.plan.definition, run.state, run.inputs):
            warnings.warn(told, stacklevel=user_stacklevel())
        if run.is_shown:
            self.flow.take_state(run.state)
        context = {"inputs": run.inputs, "state": run.state}
        methods = self.plan.methods
        starting = [name for name in self.plan.starts if (asked := methods[name].predicate) is None or asked(context)]
        progress = initial_progress(self.plan, starting, _run_name())
        run.changes()
        if not run.stored:
            return {"inputs": run.inputs, "progress": progress, "state": {}}
        state = run.kept.plain()
        values = {
            "inputs": run.recorded_value(run.inputs, "the inputs"),
            "progress": progress,
            "state": {ANEW: True, **state},
            "parked": {},  # an earlier run in this thread may have been left with its questions
            "answers": {},
        }
        run.feedback, run.said = [], {}
        return values | ({"saved": {"state": state, "progress": progress}} if run.marks else {})

    def get_input_jsonschema(self, config: RunnableConfig | None = None) -> dict[str, object]:
        """The JSON schema of what a run is given, without the channels of the machinery."""
        return TypeAdapter(_Given).json_schema()

    def get_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Graph:
        """The flow as a drawing."""
        return draw_graph(self.plan)

    async def aget_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Graph:
        """The flow as a drawing."""
        return draw_graph(self.plan)

    def get_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """A state; see LangGraph."""
        found = super().get_state(config, subgraphs=subgraphs)
        saver = self._journaled(found, config)
        return found if saver is None else self._caught_up(found, saver.get_tuple(found.config))

    async def aget_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """A state, read on this event loop; see LangGraph."""
        found = await super().aget_state(config, subgraphs=subgraphs)
        saver = self._journaled(found, config)
        return found if saver is None else self._caught_up(found, await saver.aget_tuple(found.config))

    def _journaled(self, found: StateSnapshot, config: RunnableConfig) -> Any:
        """Where it is kept what has completed since a checkpoint, if that is kept besides."""
        if not self.is_whole or "progress" not in (found.values or {}):
            return None
        return cast("Any", place_of(config).saver or self.checkpointer or None)

    def _caught_up(self, found: StateSnapshot, kept: CheckpointTuple | None) -> StateSnapshot:
        records = appended_in(kept.pending_writes or ()) if kept else []
        return found._replace(values=caught_up(self.plan, found.values, records)) if records else found

    def bulk_update_state(self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]) -> RunnableConfig:
        """Edit a state; see LangGraph. `{"output": ...}` as a method in flight completes that method."""
        found = self.get_state(config).values
        return super().bulk_update_state(config, self._edited(supersteps, found, config))

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Edit a state on this event loop."""
        found = (await self.aget_state(config)).values
        return await super().abulk_update_state(config, self._edited(supersteps, found, config))

    def _edited(
        self, supersteps: Sequence[Sequence[StateUpdate]], found: Mapping[str, Any], config: RunnableConfig
    ) -> list[list[StateUpdate]]:
        """Edits with the way to go on: to whatever is in flight then."""
        is_fork = bool(config.get("configurable", {}).get("checkpoint_id"))
        return [[self._routed(update, found, is_fork) for update in step] for step in supersteps]

    def _routed(self, update: StateUpdate, found: Mapping[str, Any], is_fork: bool) -> StateUpdate:
        if not isinstance(update.values, dict) or update.as_node in ("__input__", "__copy__", START, END):
            return update
        values: dict[str, Any] = dict(update.values)
        before = values if "progress" in values else {**found, **values}
        if self.is_whole and "progress" not in values:  # what was journaled is part of what is edited
            values["state"] = {**found.get("state", {}), **(values.get("state") or {})}
            values["progress"] = found["progress"]
        progress: Progress = values.get("progress") or found["progress"]
        if is_fork:  # what runs inside of methods began with another state, and is not to be gone on with
            values |= under(before, _run_name())
            progress = values["progress"]
        mine = [name for name, one in progress["inflight"].items() if one["method"] == update.as_node]
        if mine and "output" in values:
            output = values.pop("output")
            method = progress["inflight"][mine[0]]["method"]
            progress = advanced(self.plan, progress, mine[0], labels_of(self.plan, method, output), output)
            values["progress"] = progress
            if not progress["inflight"]:
                values["output"] = output
        if self.is_whole:
            goto: object = WHOLE if progress["inflight"] else END
            return update._replace(values=Command(update=values, goto=goto), as_node=WHOLE)
        goto = list(dict.fromkeys(one["method"] for one in progress["inflight"].values())) or END
        return update._replace(values=Command(update=values, goto=goto), as_node=update.as_node or WAIT)
