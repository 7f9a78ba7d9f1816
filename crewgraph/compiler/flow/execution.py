"""Executions of methods: their arguments, the hooks around them, and their runs in the trace."""

import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from types import MethodType
from typing import Any, cast

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.types import Command, Send
from pydantic import BaseModel

from crewgraph.annotations import signature_of
from crewgraph.compiler.flow.algebra import Execution
from crewgraph.compiler.flow.asking import interrupts, pending_feedback, request_feedback
from crewgraph.compiler.flow.record import method_of
from crewgraph.compiler.flow.report import FlowReport
from crewgraph.compiler.flow.run import FlowRun
from crewgraph.compiler.flow.running import RUNNING, Parked, Running
from crewgraph.core.files import FILES
from crewgraph.core.interpreter import WAY_OUT
from crewgraph.core.loops.bridge import call
from crewgraph.core.operations import Do, Program, adrive, blocking, drive
from crewgraph.core.tracing import aspanned, spanned
from crewgraph.definitions.flow.definition import FlowTopology
from crewgraph.definitions.flow.feedback import FEEDBACK_SUFFIX, HumanFeedbackResult, label_value
from crewgraph.definitions.flow.method import FlowMethod
from crewgraph.definitions.flow.state import TURN, input_fields
from crewgraph.definitions.run_options import Inputs
from crewgraph.errors import HookAborted, RunError
from crewgraph.events.lineage import restored_lineage
from crewgraph.hooks.points import InterceptionPoint, StepContext
from crewgraph.hooks.registry import dispatching, hooks_at
from crewgraph.llm.current_call import CALL, CurrentCall
from crewgraph.schema import is_list, is_mapping
from crewgraph.scoped import scoped
from crewgraph.text import suggestion

_PAYLOAD = "crewai_trigger_payload"
"""The input with the trigger payload; it fills the parameter of this name of start methods."""

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def method_arguments(
    method: FlowMethod, trigger_value: object, triggered: bool, inputs: Inputs
) -> tuple[tuple[object, ...], dict[str, object]]:
    """Return the arguments, without the flow itself.

    Args:
        method: the method.
        trigger_value: the result of the triggering event, for its first parameter.
        triggered: whether an event triggered it; else the run starts with it, and its parameters are inputs by name.
        inputs: the run's inputs.

    Raises:
        RunError: a parameter has neither a value nor a default.
    """
    parameters = _parameters(method.func)
    args: tuple[object, ...] = ()
    rest = parameters
    is_positional = bool(parameters) and parameters[0].kind in (*_POSITIONAL, inspect.Parameter.VAR_POSITIONAL)
    if triggered and is_positional and not (method.is_start and parameters[0].name == _PAYLOAD):
        args, rest = (trigger_value,), parameters[1:]
    keywords: dict[str, object] = {}
    for parameter in rest:
        if parameter.kind is inspect.Parameter.VAR_KEYWORD and not triggered:
            keywords = {**inputs, **keywords}
        elif parameter.kind in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL):
            continue
        elif parameter.name in inputs:
            keywords[parameter.name] = inputs[parameter.name]
        elif parameter.default is inspect.Parameter.empty:
            known = ", ".join(f"`{name}`" for name in inputs) or "none"
            raise RunError(
                f"method `{method.name}` needs `{parameter.name}`, which is not among the inputs ({known}). Pass it to "
                f"`kickoff`, or give the parameter a default."
            )
    return args, keywords


def input_names(definition: FlowTopology, state: Any) -> set[str]:
    """Return the names that the inputs of a flow are known to have: the state's, and those of its start methods' parameters."""
    starts = [method for method in definition.methods.values() if method.is_start]
    parameters = {parameter.name for method in starts for parameter in _parameters(method.func)}
    return parameters | {*(input_fields(type(state)) if isinstance(state, BaseModel) else state)} - {"id"}


def unknown_inputs(definition: FlowTopology, state: object, inputs: Inputs) -> list[str]:
    """Return warnings about inputs that match no field of the state's model and no parameter of a start method."""
    if not isinstance(state, BaseModel) or state.model_config.get("extra") == "allow":
        return []
    parameters = [parameter for method in definition.methods.values() for parameter in _parameters(method.func)]
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters):
        return []
    known = {
        *input_fields(type(state)),
        *(parameter.name for parameter in parameters),
        "id",
        _PAYLOAD,
        TURN,
        FILES,
    }
    return [
        f"the input `{name}` is neither a field of the state `{type(state).__name__}` of flow `{definition.name}` nor a "
        f"parameter of a method.{suggestion(name, sorted(known))}"
        for name in inputs.keys() - known
    ]


@lru_cache(10_000)
def _parameters(function: Callable[..., Any]) -> tuple[inspect.Parameter, ...]:
    parameters = tuple(signature_of(function).parameters.values())
    return parameters if parameters and parameters[0].kind is inspect.Parameter.VAR_POSITIONAL else parameters[1:]


_COMMANDS: tuple[type[Any], ...] = (Command, Send)
_PRE, _POST = InterceptionPoint.PRE_STEP, InterceptionPoint.POST_STEP

_Arguments = tuple[tuple[object, ...], Mapping[str, object]]
_Started = Callable[[tuple[object, ...], Mapping[str, object]], None]
"""Reports that a method starts, with its arguments."""


def _hooked_arguments(
    running: Running, args: tuple[object, ...], keywords: Mapping[str, object], started: _Started
) -> Program[_Arguments]:
    """Run the hooks before a method, report its start, and return its arguments as the hooks left them; other names are dropped.

    Raises:
        HookAborted: a hook refuses its start, which is reported without arguments.
    """
    payload = {**{f"_{number}": value for number, value in enumerate(args)}, **keywords}
    context = StepContext(payload=payload, flow=running.flow, kind="flow_method", step_name=running.method)
    with scoped(RUNNING, running):
        try:
            with _counting(running), interrupts(running, ":hook"):
                yield from dispatching(_PRE, context)
        except HookAborted:
            started((), {})
            raise
    remaining: object = context.payload
    if is_mapping(remaining):
        named = [*keywords, *(name for name in remaining if not name.startswith("_") and name not in keywords)]
        args = tuple(remaining.get(f"_{number}", value) for number, value in enumerate(args))
        keywords = {name: remaining[name] for name in named if name in remaining}
    started(args, keywords)
    return args, keywords


def _hooked_result(running: Running, value: object) -> Program[object]:
    """Run the hooks after a method and return its result as they left it.

    Raises:
        HookAborted: a hook refuses its result.
        RunError: it is a command to a graph.
    """
    for item in value if is_list(value) else (value,):
        if isinstance(item, _COMMANDS):
            raise RunError(
                f"method `{running.method}` of flow `{running.run.name}` returned a LangGraph `{type(item).__name__}`, but a "
                f"flow goes on by its triggers. Return data. {WAY_OUT}"
            )
    if not hooks_at(_POST):
        return value
    context = StepContext(payload=value, output=value, flow=running.flow, kind="flow_method", step_name=running.method)
    yield from dispatching(_POST, context)
    return context.payload


def _traced(
    running: Running, config: RunnableConfig, arguments: _Arguments, work: Callable[[], Program[object]]
) -> Program[object]:
    """Carry out the work of a method in a span of the trace, which shows a question that it leaves pending as its output."""
    args, keywords = arguments
    outcome: list[object] = []

    def inside() -> Program[object]:
        try:
            value = yield from work()
        except Parked as parked:
            outcome.append(parked)
            return {"waits_for": "\n".join(question["message"] for question in parked.questions)}
        outcome.append(value)
        return repr(cast("Any", value)) if isinstance(value, Runnable) else value  # LangChain would invoke it

    span = running.method, {**({"given": args[0]} if args else {}), **keywords}, config
    yield Do(lambda: spanned(*span, lambda _: drive(inside())), lambda: aspanned(*span, lambda _: adrive(inside())))
    if isinstance(outcome[0], Parked):
        raise outcome[0]
    return outcome[0]


def _config(running: Running) -> RunnableConfig | None:
    """Return the config of the span; None without handlers, as a span costs more than a step of the graph."""
    config: RunnableConfig = var_child_runnable_config.get() or {}
    callbacks = config.get("callbacks")  # LangGraph's, which include tracers enabled by environment variables
    if not getattr(callbacks, "handlers", callbacks):
        return None
    labels = {"flow_name": running.run.name, "method": running.method}
    named: RunnableConfig = {**config, "metadata": {**(config.get("metadata") or {}), **labels}}
    return named


def execution_arguments(run: FlowRun, name: str, execution: Execution) -> tuple[tuple[object, ...], dict[str, object]]:
    """Return the arguments of an execution's method, after the flow; none for a method that was not called in this run.

    Raises:
        RunError: a parameter of the method has no value.
    """
    method = run.topology.methods[execution["method"]]
    try:
        return method_arguments(method, _trigger_value(run, execution), execution["source"] is not None, run.inputs)
    except RunError:
        if method.name in run.restored or name + FEEDBACK_SUFFIX in run.answers:
            return (), {}  # a run restored from a backend starts with a method that has already returned
        raise


def execution_work(
    run: FlowRun, name: str, execution: Execution, args: tuple[object, ...], keywords: Mapping[str, object]
) -> Callable[[], object]:
    """Report that an execution starts, and return its work as a function without arguments, sync or async.

    Hooks before the method run at the beginning of the work, so that events and traces show what they leave of the arguments.
    """
    method = run.topology.methods[execution["method"]]
    running = run.running[name] = Running(run, name, method.name)
    function = _bound(run, method)
    started = partial(FlowReport(run, name, method.name).started, execution["source"])
    is_hooked = bool(hooks_at(_PRE)) and not _has_returned(running, method)
    if not is_hooked:
        started(args, keywords)

    def steps() -> Program[object]:
        arguments = args, keywords
        if is_hooked:
            arguments = yield from _hooked_arguments(running, args, keywords, started)
        called = partial(_called, running, method, partial(function, *arguments[0], **arguments[1]))
        config = _config(running)
        value = yield from called() if config is None else _traced(running, config, arguments, called)
        run.ended.append(name)
        return value

    async def awork() -> object:
        return await adrive(steps())

    return awork if inspect.iscoroutinefunction(function) else lambda: drive(steps())


def _called(running: Running, method: FlowMethod, function: Callable[[], Any]) -> Program[object]:
    """Call a method, unless it has returned before, and return its result, with feedback if the method requests it."""
    with scoped(RUNNING, running):
        with restored_lineage(running.run.lineages.get(running.name)), _counting(running), interrupts(running):
            value: object = None if method.feedback is None else pending_feedback(running, method.feedback)
            if value is None:
                value = yield from _hooked_result(running, (yield Do(partial(call, function), function)))
        if method.feedback is None or (isinstance(value, HumanFeedbackResult) and value.method_name == method.name):
            return value
        return (yield blocking(request_feedback, running, method.feedback, value))


def _has_returned(running: Running, method: FlowMethod) -> bool:
    """Whether the method returned before, and its run continues with the feedback on its output."""
    run = running.run
    return method.feedback is not None and (
        method.name in run.restored or running.name + FEEDBACK_SUFFIX in run.answers
    )


def _bound(run: FlowRun, method: FlowMethod) -> Callable[..., Any]:
    """Return the function of a method, bound to the flow; a patch of the object or its class takes precedence."""
    flow, name = run.flow, method.name
    patched = vars(flow).get(name)
    if patched is None and inspect.getattr_static(type(flow), name, method.func) is not method.func:
        written = not (
            flow.topology().is_declared or flow.conversational
        )  # else its methods are no attributes of the class
        patched = getattr(flow, name) if written else None
    return patched if callable(patched) else MethodType(method.func, flow)


def _trigger_value(run: FlowRun, execution: Execution) -> object:
    """Return what an execution's method receives: what the method that triggered it returned, or the label.

    A label brings the feedback that it came from, else the run's latest. Without feedback, routers that are triggered by the
    labels of others receive what the first of them did.
    """
    source, label = execution["source"] or "", execution["label"]
    value = run.values.get(source)
    if isinstance(value, HumanFeedbackResult):
        return label_value(method_of(source), value) if label is None else value
    if label is None:
        return value
    return run.feedback[-1] if run.feedback else run.values.get(execution["wave"] or "", label)


def _counting(running: Running) -> scoped[CurrentCall]:
    """Count the requests of a block in the flow's usage."""
    here = CALL.get()
    return scoped(CALL, here._replace(ledgers=(*here.ledgers, running.run.usage)))
