"""Flows as compiled LangGraph graphs, and how these are drawn: methods, and labels between them."""

import warnings
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, cast
from uuid import uuid4

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig, RunnablePassthrough
from langchain_core.runnables.config import ensure_config
from langchain_core.runnables.graph import Graph
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, GraphOutput, StateUpdate
from pydantic import BaseModel, TypeAdapter
from typing_extensions import TypedDict

from crewgraph.compiler.crew.result import with_last_message
from crewgraph.compiler.crew.state import MESSAGES, MESSAGES_SCHEMA
from crewgraph.compiler.enclosing import NO_RUN, fields_of, is_node, shared_inputs
from crewgraph.compiler.flow.algebra import (
    GraphState,
    GraphUpdate,
    Progress,
    initial_progress,
    labels_of,
    next_progress,
)
from crewgraph.compiler.flow.continuing import check_flow_continues
from crewgraph.compiler.flow.execution import input_names, unknown_inputs
from crewgraph.compiler.flow.nodes import RUN, WAIT, FlowNode
from crewgraph.compiler.flow.record import forked_values
from crewgraph.compiler.flow.run import FlowRun
from crewgraph.compiler.flow.state_changes import ANEW, apply_changes
from crewgraph.core.channels import ResultChannel
from crewgraph.core.claims import ThreadClaim
from crewgraph.core.loops.bridge import call
from crewgraph.core.operations import Program
from crewgraph.core.pregel import InlineGraph, named_run, node_name, place_of, types_around, untraced
from crewgraph.definitions.flow.definition import FlowTopology
from crewgraph.definitions.flow.flow import FlowDefinition
from crewgraph.definitions.flow.method import texts_in_code
from crewgraph.definitions.flow.state import state_fields
from crewgraph.definitions.run_options import Inputs
from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import CompileError, RunError
from crewgraph.llm.conversation import openai_messages, read_messages
from crewgraph.schema import PlainDict, PlainMapping, is_mapping, is_object
from crewgraph.storage.checkpoints.strict import saver_of_host
from crewgraph.storage.claims.owned_graph import CHECK, OwnedGraph


def edges_of(topology: FlowTopology) -> Iterator[tuple[str, str, str | None]]:
    """The edges of a flow: source, target and label, if any."""
    for name in topology.methods:
        for event in (*sorted(topology.triggers[name]), *sorted(topology.again[name])):
            if event in topology.methods:
                if event in topology.triggers[name]:
                    yield event, name, None
                sources = [
                    method.name for method in topology.methods.values() if method.is_router and event in method.labels
                ]
            else:
                sources = _sources(topology, event)
            for source in sources:
                yield source, name, event


def _sources(topology: FlowTopology, label: str) -> list[str]:
    """Return the methods that fire a label; routers with unknown labels may fire any label that no other method fires."""
    known = [
        name
        for name, method in topology.methods.items()
        if (method.is_router or label in topology.emitted_labels)
        and (label in method.labels or label in texts_in_code(method.func))
    ]
    return known or [name for name, method in topology.methods.items() if method.is_router and not method.labels]


def draw_graph(topology: FlowTopology, flow_name: str) -> Graph:
    """Return the drawing of a flow; its nodes have the metadata of the methods' runs in traces."""
    graph = Graph()
    nodes = {START: graph.add_node(RunnablePassthrough(), START)}
    for name in topology.methods:
        nodes[name] = graph.add_node(RunnablePassthrough(), name, metadata={"flow_name": flow_name, "method": name})
    nodes[END] = graph.add_node(RunnablePassthrough(), END)
    for name in topology.starts:
        graph.add_edge(nodes[START], nodes[name], conditional=topology.methods[name].predicate is not None)
    ends = dict.fromkeys(topology.methods)
    for source, target, label in dict.fromkeys(edges_of(topology)):
        graph.add_edge(nodes[source], nodes[target], data=label, conditional=label is not None)
        ends.pop(source, None)
    for name in ends:
        graph.add_edge(nodes[name], nodes[END])
    return graph


class _Channels(TypedDict, total=False):
    """The state of the graph."""

    inputs: PlainDict
    """The inputs of the run."""

    state: Annotated[PlainDict, apply_changes]
    """The flow's state, as plain data."""

    progress: Progress
    """The progress of the run."""

    parked: dict[str, object]
    """The pending questions, by id."""

    answers: dict[str, object]
    """The answers for methods that will run again."""

    feedback: PlainDict
    """The feedback on outputs, with the run's id."""

    outputs: PlainDict
    """The results of a declared flow's methods, with the run's id."""

    saved: PlainDict
    """State and progress as of the last persisted method, if only some are persisted."""

    unsaved: dict[str, object] | None
    """The method after which a backend failed to save the state, with the run's id."""

    output: Annotated[Any, ResultChannel]
    """The result of the last method."""


_OWN_CHANNELS = {"inputs", "state", "output"}
"""The keys of the graph's state that callers see."""


class _Talking(_Channels, total=False):
    messages: Annotated[list[AnyMessage], add_messages]


class _InputSchema(TypedDict, total=False):
    """The inputs of a run."""

    inputs: PlainDict


class _OutputSchema(TypedDict, total=False):
    state: PlainDict
    output: Any


class _TalkingOutput(_OutputSchema, total=False):
    messages: Annotated[list[AnyMessage], add_messages]


def flow_form(definition: FlowTopology, *, converses: bool = False) -> CompiledStateGraph[Any]:
    """Return what the graphs of a flow's class share, compiled once, because compiling takes longer than many runs.

    It has a channel for a conversation if it `converses`.
    """
    graph = StateGraph(
        _Talking if converses else _Channels, output_schema=_TalkingOutput if converses else _OutputSchema
    )
    for name in (*definition.methods, WAIT):
        graph.add_node(name, FlowNode(name))
    graph.add_conditional_edges(START, _first, [*definition.methods, END])
    return _compiled(graph)


def flow_graph(
    flow: "FlowDefinition",
    form: CompiledStateGraph[Any],
    *,
    checkpointer: Any = None,
    store: object = None,
    name: str | None = None,
    messages: bool | str = False,
    context_schema: type[Any] | None = None,
    **options: object,
) -> "FlowGraph":
    """Return the graph of a flow.

    Args:
        flow: the flow.
        form: that of its class.
        checkpointer: where its runs are stored.
        store: a LangGraph store for its methods.
        name: its name as a node and in traces; None uses the flow's.
        messages: see `Flow.compile`; true only where the form converses.
        context_schema: the schema of its runs' context.
        options: other arguments of LangGraph's `compile`.
    """
    base = _compiled(form.builder, **options) if options else form
    shown_name = node_name(flow.flow_name if name is None else name)
    fields = {**vars(base), "checkpointer": checkpointer, "store": store, "name": shown_name}
    fields["context_schema"] = context_schema
    run_name = f"Flow: {flow.flow_name}" if name is None else name
    conversed = None if messages is False else _conversed(messages, flow.topology(), flow.state)
    return FlowGraph(flow=flow, run_name=run_name, conversed=conversed, **fields)


def _conversed(messages: bool | str, definition: FlowTopology, state: object) -> str:
    """Return the input that takes the text of the last human message; empty if the flow reads only whole conversations.

    Raises:
        CompileError: it is ambiguous, or there is none.
    """
    if isinstance(messages, str):
        if unread := unknown_inputs(definition, state, {messages: ""}):
            raise CompileError(f"`messages={messages!r}`: {unread[0]}")
        return messages
    names = input_names(definition, state)
    others = sorted(names - {MESSAGES})
    if len(others) == 1:
        return others[0]
    if MESSAGES in names:
        return ""
    raise CompileError(
        "`messages=True` gives the last message to the flow's only input: the field of its state or the parameter of its start "
        f'method. It has {", ".join(f"`{name}`" for name in others) or "none"}. Name one, `compile(messages="question")`, or '
        f"let the state have a field `{MESSAGES}`, which takes the whole conversation."
    )


def _compiled(graph: "StateGraph[Any]", **options: Any) -> CompiledStateGraph[Any]:
    """Compile a graph whose nodes open no runs in the trace; methods do, as they may end in another node."""
    compiled = graph.compile(**options)
    untraced(compiled, *graph.nodes)
    return compiled


def _run_name() -> str:
    """A unique id of the run."""
    return uuid4().hex[:12]


def _first(state: GraphState) -> list[str]:
    progress: Progress = state["progress"]
    return [item["method"] for item in progress["inflight"].values()] or [END]


class FlowGraph(OwnedGraph, InlineGraph):
    """The compiled graph of a flow: each invocation is a run of the flow, and drawings show the flow instead of its nodes.

    Args:
        flow: the flow.
        run_name: the name of its runs in traces.
        conversed: the input that takes the last message of a conversation; None if the graph takes part in none.
        fields: the constructor arguments of `CompiledStateGraph`.
    """

    def __init__(self, *, flow: "FlowDefinition", run_name: str, conversed: str | None = None, **fields: Any) -> None:
        super().__init__(**fields)
        # In `vars`, so that LangGraph's `copy` passes them to `__init__`.
        self.flow, self.run_name, self.conversed = flow, run_name, conversed

    @property
    def topology(self) -> FlowTopology:
        """The methods of the flow with their triggers."""
        return self.flow.topology()

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the graph and return its state and output; see LangGraph."""
        return self._with_changes(self._revived(super().invoke(input, config, **kwargs), config, kwargs), input, config)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Async version of `invoke`."""
        result = self._revived(await super().ainvoke(input, config, **kwargs), config, kwargs)
        return self._with_changes(result, input, config)

    def _with_changes(self, result: Any, input: object, config: RunnableConfig | None) -> Any:
        """Return the result of a node with what the flow has changed of the state that it shares with the graph around it."""
        given, state = fields_of(input), result.get("state") if is_mapping(result) else None
        if not (is_node(config) and is_mapping(given) and is_mapping(state)):
            return result
        shared = types_around(config or {}).keys() & state.keys() - result.keys() - {"id", "inputs"}
        before = {**state_fields(self.flow.state), **self._inputs_of(given, config)}
        changed = {name: state[name] for name in shared if name not in before or state[name] != before[name]}
        return {**result, **changed}

    def _revived(self, result: Any, config: RunnableConfig | None, options: PlainMapping) -> Any:
        """Return a result with its values as the methods made them, not as checkpoints hold them."""
        if options.get("stream_mode", "values") != "values":
            return result
        if isinstance(result, GraphOutput):
            part = cast("GraphOutput[Any]", result)
            return replace(part, value=self._revived(part.value, config, options))
        if not is_object(result):
            return result
        run = self._run_in(ensure_config(config))
        recorded = ("state", "output") if run.stored else ("state",)
        return {name: run.revived(value) if name in recorded else value for name, value in result.items()}

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Run the graph and stream its parts; see LangGraph."""
        input, config = self._opened(input, config)
        yield from super().stream(input, config, **kwargs)

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """Async version of `stream`."""
        input, config = self._opened(input, config)
        async with aclosing(cast("Any", super().astream(input, config, **kwargs))) as parts:
            async for part in parts:
                yield part

    def held(self, configurable: PlainMapping, claim: ThreadClaim) -> None:
        """Note the claim of a run, which the crews that its methods run use, too."""
        configurable[RUN].claim = claim

    def _check_stored(
        self,
        value: object,
        config: RunnableConfig,
        saver: Any,
        place: PlainMapping,
        stored: CheckpointTuple | None,
    ) -> Program[None]:
        """Check that the flow can continue the run that is stored, if there is one.

        Raises:
            DefinitionChanged: it began with other methods or triggers.
            RunError: there is none for a `Command`.
        """
        values: PlainMapping = {} if stored is None else stored.checkpoint["channel_values"]
        if "progress" not in values and isinstance(value, Command):
            raise RunError(NO_RUN)
        if "progress" in values and not (isinstance(value, Command) and value.goto):  # else: where the caller says
            yield from check_flow_continues(self._run_in(config), saver, place, values["progress"], can_fork=False)

    def check_input(self, value: object, context: object = None) -> None:
        """Raise what a run with this input would raise before its first step."""
        self._opened(value, None)

    def _opened(self, value: Any, config: RunnableConfig | None) -> tuple[Any, RunnableConfig]:
        """Return the input of the run, and a config that holds its live state."""
        fields: object = fields_of(value)
        configurable: PlainDict = dict((config or {}).get("configurable") or {})
        run: FlowRun | None = configurable.get(RUN)
        if run is None or run.flow is not self.flow:  # other code than the runtime, which has checked the run, calls
            own = ensure_config(config)
            run = self._run_in(own)
            if value is None or isinstance(value, Command) or place_of(own).again:
                configurable[CHECK] = partial(self._check_stored, value, own)
        graph_input: object = fields
        is_begun = is_mapping(fields) and "progress" in fields and configurable.get(RUN) is run
        if is_mapping(fields) and not is_begun:
            inputs = self._inputs_of(fields, config)
            # LangGraph also passes a node's input to a resumed graph, which ignores it unless nothing is stored.
            is_resumed = run.stored and place_of(ensure_config(config)).again
            graph_input = self.initial_values(self._run_in(ensure_config(config)) if is_resumed else run, inputs)
            run.inputs = dict(inputs)
            if MESSAGES in fields and self.conversed is not None:
                graph_input[MESSAGES] = fields[MESSAGES]
        opened = named_run({**(config or {}), "configurable": {**configurable, RUN: run}}, self.run_name)
        return graph_input, opened

    def _inputs_of(self, value: PlainMapping, config: RunnableConfig | None) -> Inputs:
        """Return the inputs of a run: `{"topic": "rain"}` is `{"inputs": {"topic": "rain"}}`.

        Raises:
            RunError: the caller passes an input that neither the state nor a method reads.
        """
        names = input_names(self.topology, self.flow.state)
        if self.conversed is not None and MESSAGES in value:
            if self.conversed:
                value = with_last_message(value, self.conversed)
            names = names if isinstance(self.flow.state, BaseModel) else names | {MESSAGES}
            value = {**value, MESSAGES: openai_messages(read_messages(value[MESSAGES]))}
            return shared_inputs(value, names - _OWN_CHANNELS)
        if is_node(config):
            return shared_inputs(value, names - _OWN_CHANNELS)
        inputs: Inputs = value.get("inputs") or {} if not value or value.keys() & _OWN_CHANNELS else value
        if unread := unknown_inputs(self.topology, self.flow.state, inputs):
            raise RunError("; ".join(unread))
        return inputs

    def _run_in(self, config: RunnableConfig) -> FlowRun:
        """Return a run in a graph of the caller, or in one of its nodes."""
        place = place_of(config)
        saver = cast("Any", place.saver if self.checkpointer in (None, True) else self.checkpointer or None)
        run = FlowRun(self.flow, None, {}, stored=saver is not None)
        run.is_shown = False
        run.saver = None if saver is None else saver_of_host(saver)
        run.thread_id = "/".join(filter(None, [place.thread, place.task]))
        run.speaker = None if self.conversed is None else self.name
        return run

    def initial_values(self, run: FlowRun, inputs: Inputs) -> GraphUpdate:
        """Return the state of the graph at the start of a run."""
        if run.state is None:
            run.state = self.flow.new_state(inputs) if run.is_shown else self.flow.detached_state(inputs)
        run.inputs = dict(inputs)
        for warning in unknown_inputs(run.topology, run.state, run.inputs):
            warnings.warn(warning, stacklevel=user_stacklevel())
        if run.is_shown:
            self.flow.take_state(run.state)
        context = {"inputs": run.inputs, "state": run.state}
        methods = run.topology.methods
        starting = list(run.restored) or [
            name
            for name in run.topology.starts
            if (predicate := methods[name].predicate) is None or call(predicate, context)
        ]
        progress = initial_progress(run.topology, starting, _run_name())
        if run.restored:  # what it began with is not known
            progress["definition"] = ""
        run.changes()
        if not run.stored:
            return {"inputs": run.inputs, "progress": progress, "state": {}}
        state = run.committed.plain()
        values = {
            "inputs": run.recorded_value(run.inputs, "the inputs"),
            "progress": progress,
            "state": {ANEW: True, **state},
            "parked": {},  # an earlier run in this thread may have been left with its questions
            "answers": {},
        }
        run.feedback, run.results_by_method = [], {}
        return values | ({"saved": {"state": state, "progress": progress}} if run.marks else {})

    def get_input_jsonschema(self, config: RunnableConfig | None = None) -> dict[str, object]:
        """Return the JSON schema of a run's input: the fields of the state's model, or `inputs` if the state is a dict."""
        state = self.flow.state
        if not isinstance(state, BaseModel):
            schema = TypeAdapter(_InputSchema).json_schema()
        else:
            schema = type(state).model_json_schema()
            fields: PlainDict = schema.get("properties", {})
            schema["properties"] = {name: field for name, field in fields.items() if name != "id"}
        if self.conversed is not None:
            schema["properties"][MESSAGES] = MESSAGES_SCHEMA
            schema["required"] = [name for name in schema.get("required", ()) if name not in (self.conversed, MESSAGES)]
        return schema

    def get_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Graph:
        """The flow as a drawing."""
        return draw_graph(self.topology, self.flow.flow_name)

    async def aget_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Graph:
        """The flow as a drawing."""
        return self.get_graph()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None, **kwargs: object) -> dict[str, str]:
        """Return the representations for notebooks: the drawing, made locally rather than by a server, and the mermaid text."""
        drawn: Any = self.flow  # a `Flow`, which can draw itself
        return {
            "text/plain": repr(self),
            "text/html": drawn._repr_html_(),
            "text/markdown": f"```mermaid\n{drawn.to_mermaid()}```\n",
        }

    def bulk_update_state(self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]) -> RunnableConfig:
        """Edit a state; see LangGraph. `{"output": ...}` as a method in flight completes that method; None changes nothing.

        Raises:
            RunError: nothing is stored yet.
        """
        values = self.get_state(config).values
        return super().bulk_update_state(config, self._edited(supersteps, values, config))

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Async version of `bulk_update_state`."""
        values = (await self.aget_state(config)).values
        return await super().abulk_update_state(config, self._edited(supersteps, values, config))

    def _edited(
        self, supersteps: Sequence[Sequence[StateUpdate]], current: GraphState, config: RunnableConfig
    ) -> list[list[StateUpdate]]:
        """Add to an edit of the state the next nodes: those of the executions in flight."""
        is_fork = bool(config.get("configurable", {}).get("checkpoint_id"))
        return [[self._routed(update, current, is_fork) for update in step] for step in supersteps]

    def _routed(self, update: StateUpdate, current: GraphState, is_fork: bool) -> StateUpdate:
        given: Any = update.values
        if not isinstance(given, dict | None) or update.as_node in ("__input__", "__copy__", END):
            return update
        values: GraphUpdate = {} if given is None else dict(cast("GraphUpdate", given))
        if not isinstance(values.get("state"), Mapping | None):
            raise RunError(f"`state` is {values['state']!r:.80}; an edit gives a dict of the fields that change")
        before = values if "progress" in values else {**current, **values}
        if "progress" not in before:
            raise RunError(f"the thread holds no run of flow `{self.flow.flow_name}` to edit; invoke the graph first")
        if update.as_node == START:
            return update
        progress: Progress = values.get("progress") or current["progress"]
        if is_fork:  # runs inside methods started from another state and must not be resumed
            values |= forked_values(before, _run_name())
            progress = values["progress"]
        executions = [name for name, execution in progress["inflight"].items() if execution["method"] == update.as_node]
        if executions and "output" in values:
            output = values.pop("output")
            method = progress["inflight"][executions[0]]["method"]
            progress = next_progress(
                self.topology, progress, executions[0], labels_of(self.topology, method, output), output
            )
            values["progress"] = progress
            if not progress["inflight"]:
                values["output"] = output
        goto = list(dict.fromkeys(item["method"] for item in progress["inflight"].values())) or END
        return update._replace(values=Command(update=values, goto=goto), as_node=update.as_node or WAIT)
