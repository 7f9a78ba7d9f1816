"""What one execution of a method does."""

from collections.abc import Callable, Mapping
from typing import Any

from crewgraph.compiler.flow.algebra import Execution
from crewgraph.compiler.flow.arguments import arguments_of
from crewgraph.compiler.flow.asking import interrupts, result_of, said_of
from crewgraph.compiler.flow.hooked import HookedMethod
from crewgraph.compiler.flow.run import RUNNING, FlowRun, Running
from crewgraph.compiler.flow.surroundings import current
from crewgraph.compiler.flow.trace import atraced, traced
from crewgraph.core.loops.bridge import in_thread
from crewgraph.definitions.flow.feedback import HumanFeedbackResult
from crewgraph.definitions.flow.method import FlowMethod
from crewgraph.events.lineage import apart

__all__ = ["called_with", "work_of"]


def called_with(run: FlowRun, execution: Execution) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What the method of an execution is called with, behind the flow.

    Raises:
        RunError: a parameter of the method has no value.
    """
    method = run.plan.methods[execution["method"]]
    return arguments_of(method, _given(run, execution), execution["source"] is not None, run.inputs)


def work_of(
    run: FlowRun, name: str, execution: Execution, args: tuple[Any, ...], keywords: Mapping[str, Any]
) -> Callable[[], Any]:
    """What an execution does, without arguments; sync or async."""
    method = run.plan.methods[execution["method"]]
    running = run.running[name] = Running(run, name, method.name)
    hooked = HookedMethod(run.flow, method.name)

    def work() -> Any:
        def inside() -> Any:
            token = RUNNING.set(running)
            try:
                with apart(run.lineages.get(name)), current(running), interrupts(running):
                    value = _looked_at(running, method)
                    if value is None:
                        given, named = hooked.before(args, keywords)
                        value = hooked.after(method.func(run.flow, *given, **named))
                return _told(running, method, value)
            finally:
                RUNNING.reset(token)

        value = traced(running, args, keywords, inside)
        run.ended.append(name)
        return value

    async def awork() -> Any:
        async def inside() -> Any:
            token = RUNNING.set(running)
            try:
                with apart(run.lineages.get(name)), current(running), interrupts(running):
                    value = _looked_at(running, method)
                    if value is None:
                        given, named = await hooked.abefore(args, keywords)
                        value = await hooked.aafter(await method.func(run.flow, *given, **named))
                return value if method.feedback is None else await in_thread(_told, running, method, value)
            finally:
                RUNNING.reset(token)

        value = await atraced(running, args, keywords, inside)
        run.ended.append(name)
        return value

    return awork if method.is_async else work


def _given(run: FlowRun, execution: Execution) -> Any:
    """What came of the event that triggered an execution: a label itself, else what the method returned."""
    value = run.values.get(execution["source"] or "")
    return value if execution["label"] is None or isinstance(value, HumanFeedbackResult) else execution["label"]


def _looked_at(running: Running, method: FlowMethod) -> HumanFeedbackResult | None:
    """What was said of the method's output, where it has returned before and was left with its question."""
    return said_of(running, method.feedback) if method.feedback is not None else None


def _told(running: Running, method: FlowMethod, value: Any) -> Any:
    """The value with what somebody says of it, where somebody is to look at it."""
    if method.feedback is None or isinstance(value, HumanFeedbackResult):
        return value
    return result_of(running, method.feedback, value)
