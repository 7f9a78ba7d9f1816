"""Kickoff and resume of flows.

Flows of which only some methods are persisted resume from the last of these. Pending runs are found by their ids.
"""

import warnings
from asyncio import CancelledError
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.errors import GraphBubbleUp
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command
from pydantic_core import to_jsonable_python

from crewgraph.compiler.enclosing import is_node
from crewgraph.compiler.flow.algebra import GraphState
from crewgraph.compiler.flow.asking import answers_of_inbox, ask_person, takes_anything
from crewgraph.compiler.flow.background import end_all, settle
from crewgraph.compiler.flow.continuing import check_flow_continues
from crewgraph.compiler.flow.graph import FlowGraph, flow_form, flow_graph
from crewgraph.compiler.flow.nodes import RUN, WAIT
from crewgraph.compiler.flow.record import method_of, of_run
from crewgraph.compiler.flow.report import copied, emit_flow_event, question_of
from crewgraph.compiler.flow.run import FlowRun
from crewgraph.compiler.flow.running import RUNNING, Parked, Running
from crewgraph.compiler.flow.saving import backend_of_states, backends_of, load_state
from crewgraph.compiler.flow.state_changes import ANEW
from crewgraph.compiler.surroundings import AROUND
from crewgraph.core.cancellation import RunAbandoned
from crewgraph.core.claims import ThreadClaim
from crewgraph.core.loops.bridge import call
from crewgraph.core.operations import Program, Saving, drive
from crewgraph.core.pregel import CLAIM, began
from crewgraph.definitions.flow.feedback import PendingFeedbackContext, PendingFlow, output_value
from crewgraph.definitions.flow.flow import FlowDefinition
from crewgraph.definitions.flow.persistence import FlowPersistence
from crewgraph.definitions.flow.state import run_extension, state_inputs
from crewgraph.definitions.run_options import Inputs
from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import CompileError, DefinitionError, HookAborted, RunError, UnknownRun
from crewgraph.events.flow import FlowFailedEvent, FlowFinishedEvent, FlowPausedEvent, FlowStartedEvent
from crewgraph.events.lineage import running
from crewgraph.runtime.execution import (
    Run,
    configured,
    interruption,
    resume_advice,
    wait_for_listeners,
    with_run_config,
)
from crewgraph.runtime.run_hooks import flow_observers, observed, run_entry_hooks, with_failure_hooks, with_run_hooks
from crewgraph.runtime.runs.metadata import CREW_NAME, FLOW_NAME, project_labels, shown_name
from crewgraph.runtime.runs.retention import Retention
from crewgraph.runtime.runs.storage import checkpointer_for, checkpointer_of_graph, own_saver
from crewgraph.schema import PlainDict
from crewgraph.storage.claims.keepers import claim_keeper, holding_claim
from crewgraph.text import storable_id

_T = TypeVar("_T")


def form_of(flow: "FlowDefinition | type[FlowDefinition]") -> CompiledStateGraph[Any]:
    """Return the form of a flow's class, cached.

    Raises:
        DefinitionError: it has faults.
    """
    definition = flow.topology()
    form: CompiledStateGraph[Any] | None = definition.derived.get(flow_form)
    if form is None:
        if definition.faults:
            raise DefinitionError("\n".join(definition.faults))
        for doubt in definition.warnings:
            warnings.warn(doubt, stacklevel=user_stacklevel())
        form = flow_form(definition)
        definition.derived.put(flow_form, form)
    return form


def _saved_values(values: GraphState) -> GraphState | None:
    """Return a run's progress and flow state as of its last persisted method; None if all its methods were persisted."""
    saved: GraphState | None = values.get("saved")
    return saved if saved is not None and saved["progress"]["run"] == values["progress"]["run"] else None


def is_behind(values: GraphState) -> bool:
    """Whether methods have completed since the last persisted one."""
    saved = _saved_values(values)
    if saved is None or values.get("parked"):  # pending questions are not withdrawn
        return False
    return bool(saved["progress"]["last"] != values["progress"]["last"])


def rewind(graph: FlowGraph, config: object, values: GraphState) -> Program[Mapping[str, object]]:
    """Set a run back to the completion of the last persisted method; return the address of the new checkpoint.

    Args:
        graph: the flow's graph.
        config: the config of the run.
        values: the state of the graph.
    """
    saved: GraphState = values["saved"]
    update = {"state": {ANEW: True, **saved["state"]}, "progress": saved["progress"], "answers": {}}
    edited = yield Saving(graph, "update_state", config, update)
    address: Mapping[str, object] = edited["configurable"]
    return address


_MOST_STEPS = 10**9


def run_or_resume_flow(flow: "FlowDefinition", flow_id: str, inputs: Inputs) -> Program[Any]:
    """Run to the end, whatever the run's current status; see `Flow.run_or_resume`."""
    return with_failure_hooks(flow, _run_or_resume(flow, flow_id, inputs))


def _run_or_resume(flow: "FlowDefinition", flow_id: str, inputs: Inputs) -> Program[Any]:
    if not flow_id:
        raise RunError("`run_or_resume` needs a `flow_id`, the name that the run is stored under")
    graph, run = _stored_run(flow, {**inputs, "id": flow_id})
    return (yield from claimed_run(graph, run, flow_id, lambda: _begin_or_resume(graph, run, flow_id)))


def _stored_run(flow: "FlowDefinition", inputs: Inputs | None = None) -> tuple[FlowGraph, FlowRun]:
    """Return the graph of a flow on its checkpointer, and a run of it.

    Raises:
        RunError: its runs are not stored.
    """
    saver = checkpointer_for(own_saver(flow))
    if saver is None:
        raise RunError(
            f"flow `{flow.flow_name}` does not store its runs (`checkpointer=False`), so none can be resumed"
        )
    graph = compile_flow(flow, checkpointer=saver)
    return graph, FlowRun(flow, None, inputs or {}, stored=True)


def _begin_or_resume(graph: FlowGraph, run: FlowRun, flow_id: str) -> Program[Any]:
    values = yield from stored_values(graph, run, flow_id)
    if values:
        return (yield from resume_flow_program(run.flow, flow_id, None, run.claim))
    run.inputs = dict((yield from run_entry_hooks(run.flow, run.inputs)))
    return (yield from execute_flow(graph, run, run.inputs, flow_id))


def run_of(
    flow: "FlowDefinition", inputs: dict[str, object], feedback: object, config: RunnableConfig | None = None
) -> Program[Any]:
    """Return a kickoff as a program, or the resumption of a run with an answer.

    Raises:
        RunError: there is an answer, but no `id` of the pending run.
    """
    if config is not None:
        return configured(config, run_of(flow, inputs, feedback))
    if feedback is None:
        return _kickoff(flow, inputs)
    if "id" not in inputs:
        raise RunError(
            f'an answer (`feedback=`) for flow `{flow.flow_name}` needs the run that waits for it: `{{"id": flow_id}}` in the '
            "inputs; `flow.pending()` lists them"
        )
    return resumed_flow(flow, str(inputs["id"]), feedback)


def _kickoff(flow: "FlowDefinition", inputs: dict[str, object]) -> Program[object]:
    try:
        final_inputs = yield from run_entry_hooks(flow, inputs)
    except HookAborted as error:
        _report_refused_start(flow, str(inputs.get("id") or flow.flow_id), error)
        raise
    start = flow.take_start()
    run: Program[object] = _start_or_resume(flow, final_inputs) if start is None else start(flow, final_inputs)
    return (yield from with_failure_hooks(flow, run))


def _report_refused_start(flow: "FlowDefinition", flow_id: str, error: HookAborted) -> None:
    """Emit the events of a run whose start a hook refused; they show no inputs, which later hooks would have redacted."""
    with running():
        started = {"inputs": None, "flow_id": flow_id}
        emit_flow_event(flow, FlowStartedEvent, lambda: started)
        emit_flow_event(flow, FlowFailedEvent, lambda: {"error": error})


def ask(message: str, timeout: float | None, metadata: Mapping[str, object] | None) -> str | None:
    """Ask the user from inside a method; see `Flow.ask`."""
    return ask_person(message, timeout, metadata)


def flow_questions(run: FlowRun, questions: Mapping[str, PlainDict]) -> PendingFlow:
    """Return the pending questions of a run."""
    return PendingFlow(
        flow_id=run.thread_id or run.flow_id,
        flow=run.name,
        questions=tuple(question_of(question, run.revived) for question in questions.values()),
    )


def compile_flow(flow: "FlowDefinition", *, checkpointer: Any = None, **options: Any) -> FlowGraph:
    """Compile a flow to a graph; see `Flow.compile`."""
    return _graph_on(flow, checkpointer_of_graph(checkpointer), **options)


def _graph_on(flow: "FlowDefinition", saver: Any, **options: Any) -> FlowGraph:
    """Compile a flow to a graph with a checkpointer that is checked, or is that of a server around it."""
    granularity = options.pop("granularity", None) or flow.granularity
    if granularity != "method":
        raise CompileError(
            f"`granularity` of flow `{flow.flow_name}` is {granularity!r}, but each method is a node: leave it out. For loops of "
            'tens of thousands of rounds, set `keep_history = "latest"`, or write the loop inside one method.'
        )
    form = form_of(flow)
    if options.get("messages", False) is not False:
        form = flow_form(flow.topology(), converses=True)
    return flow_graph(flow, form, checkpointer=saver, **options)


def _saver(flow: "FlowDefinition") -> object:
    """Return the checkpointer of a flow's runs; None if they are not stored."""
    if own_saver(flow) is None and not flow.topology().is_persisted and flow.persistence is None:
        return None
    return checkpointer_for(own_saver(flow))


def load_flow_state(flow: "FlowDefinition", flow_id: str) -> bool:
    """Load the state stored under an id into the flow; see `Flow._load_state`."""
    if checkpointer_for(own_saver(flow)) is not None:
        graph, run = _stored_run(flow)
        values = drive(stored_values(graph, run, flow_id))
        if "progress" in values:
            run.read({**values, **(_saved_values(values) or {})})
        if values:
            return True
    saved = drive(load_state(flow, flow_id))
    if saved is not None:
        flow.take_state(flow.restored_state(saved))
    return saved is not None


def _start_or_resume(flow: "FlowDefinition", inputs: Inputs) -> Program[object]:
    resumed_id = flow.take_resumed_id()
    if resumed_id is not None:
        inputs = {"id": resumed_id, **inputs}
    method = RUNNING.get()
    if method is not None and method.run.stored and flow.checkpointer is None and "id" not in inputs:
        return (yield from _run_in_method(flow, inputs, method))
    saver = _saver(flow)
    graph = compile_flow(flow, checkpointer=saver)
    run = FlowRun(flow, None, inputs, stored=saver is not None)
    if "id" in inputs and (saver is not None or backends_of(flow)):
        return (yield from claimed_run(graph, run, str(inputs["id"]), lambda: _resume_or_begin(graph, run, inputs)))
    return (yield from execute_flow(graph, run, inputs, None))


def claimed_run(graph: FlowGraph, run: FlowRun, thread_id: str, program: Callable[[], Program[_T]]) -> Program[_T]:
    """Run a program with the claim on the run's thread, unless the run has it already.

    Raises:
        RunError: not every database can hold the thread's id.
    """
    saver = cast("Any", graph.checkpointer) if run.stored else None
    if saver is not None:
        storable_id(thread_id, "flow")
    keeper = None if saver is None else claim_keeper(saver)

    def claimed(claim: ThreadClaim | None) -> Program[_T]:
        run.claim = claim
        return program()

    return holding_claim(keeper, thread_id, run.claim, claimed)


def _resume_or_begin(graph: FlowGraph, run: FlowRun, inputs: Inputs) -> Program[object]:
    """Resume the run stored under the `id` of the inputs, or start one with its state."""
    flow, thread_id, extra = run.flow, str(inputs["id"]), run_extension(inputs)
    values: Mapping[str, object] = {}
    if run.stored:
        values = yield from stored_values(graph, run, thread_id)
    if _is_open(values) and (extra is None or not extra.replaces(run, values)):
        return (yield from _continue(graph, run, thread_id, values))
    if "progress" in values:
        run.state = flow.new_state(inputs, (yield from _state_before(run, values, thread_id)))
    elif not (yield from _load_persisted(flow, run, thread_id)) and extra is None and AROUND.get().config is None:
        warnings.warn(
            f"no run of flow `{flow.flow_name}` is stored under `{thread_id}`; starting a new one",
            stacklevel=user_stacklevel(),
        )
    return (yield from execute_flow(graph, run, inputs, None))


def _state_before(run: FlowRun, values: GraphState, flow_id: str) -> Program[Any]:
    """Return the state with which a finished run that is kicked off again begins.

    It is the one of the backend, if there is one. Where the checkpoint has the same, that is taken: it has values which
    backends may not be able to store.
    """
    backend = backend_of_states(run.flow)
    kept = None if backend is None else (yield from load_state(run.flow, flow_id, [backend]))
    if backend is not None and kept is None:
        return None
    run.read(values)
    saved = _saved_values(values)
    stored = run.state if saved is None else run.flow.restored_state(run.revived(saved["state"]))
    if kept is None:
        return stored
    kept_state = run.flow.restored_state(kept)
    return stored if _as_json(stored) == _as_json(kept_state) else kept_state


def _as_json(state: Any) -> object:
    return to_jsonable_python(dict(state), serialize_unknown=True)


def _load_persisted(flow: "FlowDefinition", run: FlowRun, flow_id: str) -> Program[bool]:
    """Load the run's first state from a persistence backend; False if none has it."""
    values = yield from load_state(flow, flow_id)
    if values is not None:
        run.state = flow.new_state(run.inputs, flow.restored_state(values))
    return values is not None


def _continue(graph: FlowGraph, run: FlowRun, flow_id: str, values: GraphState) -> Program[object]:
    """Resume an unfinished run: from the last persisted method, if it persisted only some methods."""
    if not is_behind(values):
        return (yield from resume_flow_program(run.flow, flow_id, None, run.claim))
    saved: GraphState = values["saved"]
    yield from _check_continues(graph, run, flow_id, values, rewound=saved["progress"]["last"])
    address = yield from rewind(graph, _config(graph, run, flow_id), values)
    rewound_run = FlowRun(run.flow, None, {}, stored=True)
    rewound_run.claim = run.claim
    return (yield from execute_flow(graph, rewound_run, None, flow_id, address))


def _run_in_method(flow: "FlowDefinition", inputs: Inputs, method: Running) -> Program[object]:
    """Run inside a method of another flow, in the storage of that flow; resumes after a crash."""
    graph = _graph_on(flow, method.run.saver)
    run, thread_id = FlowRun(flow, None, inputs, stored=True), method.next_thread()
    run.claim = method.run.claim
    values: Mapping[str, object] = {}
    if method.run.again:
        values = yield from stored_values(graph, run, thread_id)
        yield from _check_continues(graph, run, thread_id, values)
    if _is_open(values):
        return (yield from execute_flow(graph, run, None, thread_id))
    if values:
        return _stored_result(run, values)
    return (yield from execute_flow(graph, run, inputs, thread_id))


def resumed_flow(flow: "FlowDefinition", flow_id: str, feedback: object) -> Program[Any]:
    """Resume a run; see `Flow.resume`."""
    return with_failure_hooks(flow, resume_flow_program(flow, flow_id, feedback))


def resume_flow_program(
    flow: "FlowDefinition", flow_id: str, feedback: object, claim: ThreadClaim | None = None
) -> Program[Any]:
    """Return a resume as a program.

    Args:
        flow: the flow.
        flow_id: the thread of the run.
        feedback: the answers; None continues without any.
        claim: the claim on the thread, if the caller holds it.
    """
    graph, run = _stored_run(flow)
    run.claim = claim
    return (yield from claimed_run(graph, run, flow_id, lambda: _resume(graph, run, flow_id, feedback)))


def _resume(graph: FlowGraph, run: FlowRun, flow_id: str, feedback: object) -> Program[Any]:
    flow = run.flow
    values = yield from stored_values(graph, run, flow_id)
    if not values:
        raise unknown_run(flow, flow_id)
    yield from _check_continues(graph, run, flow_id, values)
    if not _is_open(values):
        return _stored_result(run, values)
    questions: Mapping[str, PlainDict] = values.get("parked") or {}
    if not questions:
        return (yield from execute_flow(graph, run, None, flow_id))
    if feedback is None:
        run.read(values)
        return flow_questions(run, questions)
    _check_answers(flow, flow_id, questions, feedback)
    answer = run.recorded_value(feedback, "the answer")
    run.saved_questions = frozenset(questions)
    return (yield from execute_flow(graph, run, Command(resume=answer), flow_id))


def stored_flow_result(flow: "FlowDefinition", flow_id: str) -> Program[Any]:
    """Return the result of a stored run that is done, or its questions if it waits, without running anything.

    Raises:
        UnknownRun: there is no such run.
    """
    graph, run = _stored_run(flow)
    values = yield from stored_values(graph, run, flow_id)
    if not values:
        raise unknown_run(flow, flow_id)
    if questions := values.get("parked"):
        run.read(values)
        return flow_questions(run, questions)
    return _stored_result(run, values)


def _check_answers(flow: "FlowDefinition", flow_id: str, questions: Mapping[str, PlainDict], answers: object) -> None:
    if any(takes_anything(name) for name in questions) or answers_of_inbox(questions, answers) is not None:
        return
    if isinstance(answers, Mapping) and not set(cast("Mapping[str, object]", answers)) <= set(questions):
        expected, received = (
            ", ".join(f"`{name}`" for name in names) for names in (questions, cast("Mapping[str, object]", answers))
        )
        raise RunError(
            f"the run `{flow_id}` of flow `{flow.flow_name}` waits for answers to {expected}, "
            f"but the given answers are for {received}"
        )


def unknown_run(flow: "FlowDefinition", flow_id: str) -> UnknownRun:
    """Return the error for an id without a stored run."""
    problem = f"no run of flow `{flow.flow_name}` is stored under `{flow_id}`."
    if _saver(flow) is None:
        return UnknownRun(
            f"{problem} Its runs are not stored: decorate it with `@persist`, or give it `checkpointer=True`."
        )
    return UnknownRun(
        f"{problem} Check the `flow_id`, and where the run was stored (`checkpointer=`, CREWGRAPH_STORAGE_DIR)."
    )


def metadata_of(graph: FlowGraph) -> dict[str, object]:
    """Return the metadata in the checkpoints of a graph."""
    return {FLOW_NAME: graph.flow.flow_name, **project_labels()}


def stored_values(graph: FlowGraph, run: FlowRun, thread_id: str) -> Program[GraphState]:
    """Return the stored state of a thread."""
    state = yield Saving(graph, "get_state", _config(graph, run, thread_id))
    metadata: Mapping[str, object] = state.metadata or {}
    if CREW_NAME in metadata and FLOW_NAME not in metadata:
        raise RunError(
            f"thread `{thread_id}` holds a run of crew `{shown_name(metadata)}`, not of flow `{graph.flow.flow_name}`"
        )
    name = metadata.get(FLOW_NAME, graph.flow.flow_name)
    if name != graph.flow.flow_name and _is_open(state.values):
        raise RunError(
            f"`{thread_id}` is an unfinished run of flow `{name}`, which flow `{graph.flow.flow_name}` cannot resume"
        )
    values: GraphState = state.values or {}
    return values


def _check_continues(
    graph: FlowGraph, run: FlowRun, thread_id: str, values: GraphState, *, rewound: str | None = None
) -> Program[None]:
    """Check that the flow has not been edited so that it would lose or repeat a part of a stored run."""
    if "progress" in values:
        place = {"thread_id": thread_id, "checkpoint_ns": ""}
        yield from check_flow_continues(run, graph.checkpointer, place, values["progress"], rewound=rewound)


def _is_open(values: GraphState) -> bool:
    """Whether a run is unfinished. `next` is not enough: it is also empty while a node's writes are stored but not applied."""
    # A run without progress has only its inputs stored.
    return bool(values) and (
        "progress" not in values or bool(values["progress"]["inflight"]) or bool(of_run(values, "unsaved"))
    )


def _stored_result(run: FlowRun, values: GraphState) -> object:
    """Return the result of a finished run."""
    run.read(values)
    run.flow.set_last_run(run)
    last = values["progress"]["last"]
    return None if last is None else output_value(method_of(last), run.values.get(last))


def _config(graph: FlowGraph, run: FlowRun, thread_id: str | None) -> RunnableConfig:
    config: RunnableConfig = {
        "run_name": f"Flow: {run.name}",
        "recursion_limit": _MOST_STEPS,
        "configurable": {RUN: run},
    }
    if run.stored:  # metadata identify checkpoints; each key is stored with every step
        config["metadata"] = metadata_of(graph)
        config["configurable"] = {RUN: run, "thread_id": None if thread_id is None else storable_id(thread_id, "flow")}
    if run.claim is not None:
        config["configurable"] = {**config.get("configurable", {}), CLAIM: run.claim}
    return config if AROUND.get().config is None else with_run_config(config)


def execute_flow(
    graph: FlowGraph, run: FlowRun, value: Any, thread_id: str | None, checkpoint: Mapping[str, object] | None = None
) -> Program[Any]:
    """Run a flow and emit its events.

    Args:
        graph: the flow's graph.
        run: the live state of the run.
        value: the inputs of a new run, a Command with an answer, or None to continue.
        thread_id: the thread of the run; None for the `id` of the state.
        checkpoint: the address of the checkpoint to continue from; None for the latest.
    """
    is_resumed = not isinstance(value, dict)
    if isinstance(value, dict):
        value = graph.initial_values(run, cast("Inputs", value))
        thread_id = thread_id or run.flow_id
    program = partial(_execute, graph, run, value, thread_id, checkpoint, is_resumed=is_resumed)
    return (yield from claimed_run(graph, run, str(thread_id), program))


def _execute(
    graph: FlowGraph,
    run: FlowRun,
    value: Any,
    thread_id: str | None,
    checkpoint: Mapping[str, object] | None,
    *,
    is_resumed: bool,
) -> Program[Any]:
    flow = run.flow
    flow.set_last_run(run)
    run.thread_id, run.saver = thread_id, graph.checkpointer
    around = var_child_runnable_config.get()
    run.is_in_node = around is not None and RUNNING.get() is None and is_node(around)
    retention = Retention(flow.keep_history, f"flow `{run.name}`", run.saver or None, thread_id, of_flow=True)
    if is_resumed:  # left by an earlier process
        yield from retention.trim(shrink=False)
    config = _config(graph, run, thread_id)
    if checkpoint is not None:
        config["configurable"] = {**config.get("configurable", {}), **checkpoint}
    ran = Run(graph, value, config, durability="sync" if run.stored else None, detached=True, retention=retention)
    with running(), observed(flow_observers(run, graph.checkpointer)):
        if not run.restored:  # else its start was reported when it asked
            emit_flow_event(
                flow,
                FlowStartedEvent,
                lambda: {"inputs": state_inputs(run.inputs) or None, "flow_id": thread_id or run.flow_id},
            )
        if (extra := run_extension(run.inputs)) is not None:
            extra.started(run)
        try:
            result = yield from _finish(run, ran, retention)
        except (GeneratorExit, GraphBubbleUp, Parked):
            raise
        except BaseException as error:  # also Ctrl-C and a cancellation: the event of the end is emitted
            failure = _without_machinery(error)
            emit_flow_event(flow, FlowFailedEvent, lambda: {"error": failure})
            if (extra := run_extension(run.inputs)) is not None:
                extra.failed(run, failure)
            is_stored = run.stored and (is_resumed or began(error, str(thread_id)))
            resume = f"flow.resume({str(thread_id)!r})" if is_stored else None
            interrupted = interruption(error, f"the run of flow `{run.name}`", resume_advice(resume))
            if interrupted is not None:
                raise interrupted from error
            raise
        yield from wait_for_listeners()
    return result


def _without_machinery(error: BaseException) -> BaseException:
    """Remove the notes of an exception that name nodes other than methods."""
    if notes := getattr(error, "__notes__", None):
        notes[:] = [note for note in notes if f"name '{WAIT}'" not in note]
    return error


def _finish(run: FlowRun, execution: Run, retention: Retention) -> Program[object]:
    """Emit the events of a run's end and return its result, which hooks may change."""
    result = yield from with_run_hooks(run.flow, _outcome(run, execution, retention))
    if isinstance(result, PendingFlow):
        emit_flow_event(run.flow, FlowPausedEvent, lambda: _paused_fields(run, result))
        return result
    emit_flow_event(run.flow, FlowFinishedEvent, lambda: {"result": result, "state": copied(run.state)})
    if (extra := run_extension(run.inputs)) is not None:
        extra.finished(run)
    return result


def _outcome(run: FlowRun, execution: Run, retention: Retention) -> Program[object]:
    """Run the graph and return the result, or the questions that the run waits on."""
    try:
        yield execution
    except RunAbandoned:
        yield settle(run.works.values())
        raise
    except CancelledError:  # before the node started to wait for its running methods
        run.cancellation.is_requested = True
        yield end_all(list(run.works.values()))
        raise
    run.check_cancelled()
    yield from retention.trim()
    if execution.questions:
        return flow_questions(run, run.parked)
    return run.outputs[-1] if run.outputs else run.revived(execution.written.get("output"))


def _paused_fields(run: FlowRun, pending: PendingFlow) -> dict[str, object]:
    question = pending.questions[0]
    return {
        "flow_id": pending.flow_id,
        "method_name": question.method,
        "state": copied(run.state),
        "message": question.message,
        "emit": list(question.outcomes) or None,
    }


def waiting_flow_runs(flow: "FlowDefinition", flow_id: str) -> PendingFlow:
    """Restore a pending run into a flow, from its checkpoints or else its backends; see `Flow.from_pending`.

    Raises:
        DefinitionError: the run is not pending.
    """
    storable_id(flow_id, "flow")
    # An explicit backend knows whether the question was answered elsewhere.
    is_answered = _keeps_questions(flow.persistence) and call(flow.persistence.load_pending_feedback, flow_id) is None
    if checkpointer_for(own_saver(flow)) is not None and not is_answered:
        graph, run = _stored_run(flow)
        values = drive(stored_values(graph, run, flow_id))
        if values.get("parked"):
            run.read(values)
            return flow_questions(run, values["parked"])
        for backend in filter(_keeps_questions, backends_of(flow)):
            if (kept := call(backend.load_pending_feedback, flow_id)) is not None:
                return drive(_pending_of_backend(graph, flow_id, *kept))
    raise DefinitionError(
        f"no run `{flow_id}` of flow `{flow.flow_name}` waits for an answer; `pending()` lists those that do"
    )


def _keeps_questions(backend: object) -> bool:
    """Whether a backend stores the questions of waiting runs."""
    load = getattr(type(backend), "load_pending_feedback", None)
    return load is not None and load is not FlowPersistence.load_pending_feedback


def _pending_of_backend(
    graph: FlowGraph, flow_id: str, state: Mapping[str, object], context: PendingFeedbackContext
) -> Program[PendingFlow]:
    """Start a run in the waiting state of the run whose question a backend has stored."""
    flow = graph.flow
    if context.method_name not in graph.topology.methods:
        raise DefinitionError(
            f"the run `{flow_id}` waits for feedback on method `{context.method_name}`, which flow `{flow.flow_name}` does not "
            "have"
        )
    run = FlowRun(flow, flow.restored_state({**state, "id": flow_id}), {"id": flow_id}, stored=True)
    run.restored, run.saved_questions = {context.method_name: context}, frozenset({context.method_name})
    suppressed, flow.suppress_flow_events = flow.suppress_flow_events, True  # they were emitted when it was asked
    try:
        return (yield from execute_flow(graph, run, {"id": flow_id}, flow_id))
    finally:
        flow.suppress_flow_events = suppressed
