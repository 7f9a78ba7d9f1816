"""Executions of methods: their arguments, the hooks around them, and their runs in the trace."""

import inspect
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from types import MethodType
from typing import Any, cast

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.types import Command, Send
from pydantic import BaseModel

from crewgraph.annotations import signature_of
from crewgraph.compiler.flow.algebra import Execution
from crewgraph.compiler.flow.asking import interrupts, pending_feedback, request_feedback, restore_question
from crewgraph.compiler.flow.completion import method_of
from crewgraph.compiler.flow.report import FlowReport
from crewgraph.compiler.flow.run import FlowRun
from crewgraph.compiler.flow.running import RUNNING, Parked, Running
from crewgraph.core.files import FILES
from crewgraph.core.interpreter import WAY_OUT
from crewgraph.core.loops.bridge import in_thread, resolved
from crewgraph.core.tracing import aspanned, spanned
from crewgraph.definitions.flow.checkpoints import RESERVED_INPUTS
from crewgraph.definitions.flow.definition import FlowTopology
from crewgraph.definitions.flow.feedback import FEEDBACK_SUFFIX, HumanFeedbackResult, label_value
from crewgraph.definitions.flow.flow import FlowDefinition
from crewgraph.definitions.flow.method import FlowMethod
from crewgraph.definitions.flow.state import input_fields
from crewgraph.definitions.run_options import Inputs
from crewgraph.errors import HookAborted, RunError
from crewgraph.events.lineage import restored_lineage
from crewgraph.hooks.points import InterceptionPoint, StepContext
from crewgraph.hooks.registry import adispatch, dispatch, hooks_at
from crewgraph.llm.current_call import CALL, CurrentCall
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
        *RESERVED_INPUTS,
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
_MAY_COMMAND: tuple[type[Any], ...] = (*_COMMANDS, list)
_PRE, _POST = InterceptionPoint.PRE_STEP, InterceptionPoint.POST_STEP

_Arguments = tuple[tuple[object, ...], Mapping[str, object]]


@dataclass(frozen=True)
class HookedMethod:
    """Calls the hooks around a method of a flow."""

    flow: "FlowDefinition"
    name: str

    def before(self, args: tuple[object, ...], keywords: Mapping[str, object]) -> _Arguments:
        """Run the hooks before the method and return its arguments.

        Raises:
            HookAborted: a hook refuses its start.
        """
        if not hooks_at(_PRE):
            return args, keywords
        context = self._begins(args, keywords)
        dispatch(_PRE, context)
        return _arguments(context.payload, args, keywords)

    async def abefore(self, args: tuple[object, ...], keywords: Mapping[str, object]) -> _Arguments:
        """Async version of `before`."""
        if not hooks_at(_PRE):
            return args, keywords
        context = self._begins(args, keywords)
        await adispatch(_PRE, context)
        return _arguments(context.payload, args, keywords)

    def after(self, value: object) -> object:
        """Run the hooks after the method and return its result.

        Raises:
            HookAborted: a hook refuses its result.
            RunError: it is a command to a graph.
        """
        if isinstance(value, _MAY_COMMAND):
            self._check_data(value)
        if not hooks_at(_POST):
            return value
        context = self._ended(value)
        dispatch(_POST, context)
        return context.payload

    async def aafter(self, value: object) -> object:
        """Async version of `after`."""
        if isinstance(value, _MAY_COMMAND):
            self._check_data(value)
        if not hooks_at(_POST):
            return value
        context = self._ended(value)
        await adispatch(_POST, context)
        return context.payload

    def _check_data(self, value: object) -> None:
        for item in cast("list[object]", value) if isinstance(value, list) else (value,):
            if isinstance(item, _COMMANDS):
                raise RunError(
                    f"method `{self.name}` of flow `{self.flow.flow_name}` returned a LangGraph `{type(item).__name__}`, but a "
                    f"flow goes on by its triggers. Return data. {WAY_OUT}"
                )

    def _begins(self, args: tuple[object, ...], keywords: Mapping[str, object]) -> StepContext:
        payload = {**{f"_{number}": value for number, value in enumerate(args)}, **keywords}
        return StepContext(payload=payload, flow=self.flow, kind="flow_method", step_name=self.name)

    def _ended(self, value: object) -> StepContext:
        return StepContext(payload=value, output=value, flow=self.flow, kind="flow_method", step_name=self.name)


def _arguments(payload: object, args: tuple[object, ...], keywords: Mapping[str, object]) -> _Arguments:
    """Return the method's arguments as the hooks left them; other names are dropped."""
    if not isinstance(payload, Mapping):
        return args, keywords
    remaining = cast("Mapping[str, object]", payload)
    named = [*keywords, *(name for name in remaining if not name.startswith("_") and name not in keywords)]
    positional = tuple(remaining.get(f"_{number}", value) for number, value in enumerate(args))
    return positional, {name: remaining[name] for name in named if name in remaining}


def traced_method(
    running: Running, args: Sequence[object], keywords: Mapping[str, object], work: Callable[[], object]
) -> object:
    """Call a method in a span of the trace and return its result."""
    config = _config(running)
    if config is None:
        return work()
    outcome = _MethodOutcome()

    def inside(_: RunnableConfig) -> object:
        try:
            return outcome.record(work())
        except Parked as parked:
            return outcome.record_question(parked)

    spanned(running.method, _trace_inputs(args, keywords), config, inside)
    return outcome.result()


async def atraced_method(
    running: Running, args: Sequence[object], keywords: Mapping[str, object], work: Callable[[], Awaitable[object]]
) -> object:
    """Await a method in a span of the trace and return its result."""
    config = _config(running)
    if config is None:
        return await work()
    outcome = _MethodOutcome()

    async def inside(_: RunnableConfig) -> object:
        try:
            return outcome.record(await work())
        except Parked as parked:
            return outcome.record_question(parked)

    await aspanned(running.method, _trace_inputs(args, keywords), config, inside)
    return outcome.result()


class _MethodOutcome:
    """The result of a method, and its form in the trace."""

    value: object
    parked: Parked | None = None

    def record(self, value: object) -> object:
        self.value = value
        if isinstance(value, Runnable):  # LangChain would invoke it
            return repr(cast("Any", value))
        return value

    def record_question(self, parked: Parked) -> object:
        self.parked = parked
        return {"waits_for": "\n".join(question["message"] for question in parked.questions)}

    def result(self) -> object:
        if self.parked is not None:
            raise self.parked
        return self.value


def _trace_inputs(args: Sequence[object], keywords: Mapping[str, object]) -> dict[str, object]:
    return {**({"given": args[0]} if args else {}), **keywords}


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
    method = run.plan.methods[execution["method"]]
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
    method = run.plan.methods[execution["method"]]
    running = run.running[name] = Running(run, name, method.name)
    hooked = HookedMethod(run.flow, method.name)
    function = _bound(run, method)
    started = partial(FlowReport(run, name, method.name).started, execution["source"])
    is_hooked = bool(hooks_at(_PRE)) and not _has_returned(running, method)
    if not is_hooked:
        started(args, keywords)

    def work() -> object:
        final_args, final_keywords = args, keywords
        if is_hooked:
            with _hooking(running, started):
                final_args, final_keywords = hooked.before(args, keywords)
            started(final_args, final_keywords)

        def inside() -> object:
            with scoped(RUNNING, running):
                with restored_lineage(run.lineages.get(name)), _counting(running), interrupts(running):
                    value = _pending_feedback(running, method)
                    if value is None:
                        value = hooked.after(resolved(function(*final_args, **final_keywords)))
                return _with_feedback(running, method, value)

        value = traced_method(running, final_args, final_keywords, inside)
        run.ended.append(name)
        return value

    async def awork() -> object:
        final_args, final_keywords = args, keywords
        if is_hooked:
            with _hooking(running, started):
                final_args, final_keywords = await hooked.abefore(args, keywords)
            started(final_args, final_keywords)

        async def inside() -> object:
            with scoped(RUNNING, running):
                with restored_lineage(run.lineages.get(name)), _counting(running), interrupts(running):
                    value = _pending_feedback(running, method)
                    if value is None:
                        value = await hooked.aafter(await function(*final_args, **final_keywords))
                return value if method.feedback is None else await in_thread(_with_feedback, running, method, value)

        value = await atraced_method(running, final_args, final_keywords, inside)
        run.ended.append(name)
        return value

    return awork if inspect.iscoroutinefunction(function) else work


@contextmanager
def _hooking(running: Running, started: Callable[[tuple[object, ...], Mapping[str, object]], None]) -> Generator[None]:
    """Let the hooks before a method run in a block; a method whose start they deny starts without arguments."""
    with scoped(RUNNING, running):
        try:
            with _counting(running), interrupts(running, ":hook"):
                yield
        except HookAborted:
            started((), {})
            raise


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


def _pending_feedback(running: Running, method: FlowMethod) -> HumanFeedbackResult | None:
    """Return the feedback on the method's output, if the method returned before and its question was left pending."""
    if method.feedback is None:
        return None
    restore_question(running, method.feedback)
    return pending_feedback(running, method.feedback)


def _with_feedback(running: Running, method: FlowMethod, value: object) -> object:
    """Return the value, with feedback if the method requests it."""
    if method.feedback is None or (isinstance(value, HumanFeedbackResult) and value.method_name == method.name):
        return value
    return request_feedback(running, method.feedback, value)


def _counting(running: Running) -> scoped[CurrentCall]:
    """Count the requests of a block in the flow's usage."""
    here = CALL.get()
    return scoped(CALL, here._replace(ledgers=(*here.ledgers, running.run.usage)))
