"""The hooks at the boundaries of a run: what it begins with, what it gives, that it has ended."""

from typing import Any

from langgraph.errors import GraphBubbleUp

from crewgraph.compiler.flow.run import Parked
from crewgraph.core.operations import Operation, Program
from crewgraph.definitions.crew import Crew
from crewgraph.definitions.flow.feedback import PendingFlow
from crewgraph.definitions.flow.flow import Flow
from crewgraph.definitions.pending_crew import PendingCrew
from crewgraph.hooks.points import (
    EXECUTION_BOUNDARY_POINTS,
    ExecutionEndContext,
    ExecutionStartContext,
    HookAborted,
    InputContext,
    InterceptionPoint,
    OutputContext,
)
from crewgraph.hooks.registry import adispatch, dispatch, hooks_at

__all__ = ["bounded", "entered"]


def entered(owner: "Crew | Flow[Any]", inputs: dict[str, Any]) -> Program[Any]:
    """The inputs of a kickoff as the hooks leave them.

    Raises:
        HookAborted: a hook does not let the run begin.
    """
    if not _is_hooked(owner):
        return inputs
    start = ExecutionStartContext(payload=inputs, inputs=inputs, **_of(owner))
    yield _Dispatch(InterceptionPoint.EXECUTION_START, start)
    given = start.payload
    taken = InputContext(payload=given, inputs=given, **_of(owner))
    try:
        yield _Dispatch(InterceptionPoint.INPUT, taken)
    except HookAborted as error:
        yield from _failed(owner, error)
        raise
    return taken.payload


def bounded(owner: "Crew | Flow[Any]", run: Program[Any]) -> Program[Any]:
    """What a run gives, as the hooks leave it; they are told when it fails, and not while it waits for an answer.

    Raises:
        HookAborted: a hook does not let the output out.
    """
    if not _is_hooked(owner):
        return (yield from run)
    try:
        output = yield from run
        if isinstance(output, (PendingCrew, PendingFlow)):
            return output
        out = OutputContext(payload=output, output=output, **_of(owner))
        yield _Dispatch(InterceptionPoint.OUTPUT, out)
    except (GraphBubbleUp, Parked):
        raise
    except Exception as error:
        yield from _failed(owner, error)
        raise
    end = ExecutionEndContext(payload=out.payload, output=out.payload, **_of(owner))
    yield _Dispatch(InterceptionPoint.EXECUTION_END, end)
    return end.payload


def _failed(owner: "Crew | Flow[Any]", error: BaseException) -> Program[None]:
    yield _Dispatch(InterceptionPoint.EXECUTION_END, ExecutionEndContext(status="failed", error=error, **_of(owner)))


def _is_hooked(owner: "Crew | Flow[Any]") -> bool:
    return any(hooks_at(point, owner if isinstance(owner, Crew) else None) for point in EXECUTION_BOUNDARY_POINTS)


def _of(owner: "Crew | Flow[Any]") -> dict[str, Any]:
    return {"crew": owner} if isinstance(owner, Crew) else {"flow": owner}


class _Dispatch(Operation):
    """The hooks of a point, called."""

    def __init__(self, point: InterceptionPoint, context: Any) -> None:
        self.point, self.context = point, context

    def run(self) -> None:
        dispatch(self.point, self.context)

    async def arun(self) -> None:
        await adispatch(self.point, self.context)
