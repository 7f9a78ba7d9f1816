"""The nodes of a flow whose graph has a node for each method, and one that waits.

LangGraph ends a step when the slowest of its nodes has ended; a listener must not wait for the siblings of what triggered it.
So a method that runs alone runs in its node; of several the first node begins all in the background, and the waiting node
commits what has ended, in steps of its own.
"""

from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, interrupt

from crewgraph.compiler.flow.algebra import Progress
from crewgraph.compiler.flow.commit import answered, completed, finished, parked
from crewgraph.compiler.flow.landing import Landed, all_begun, alone, first_landed
from crewgraph.compiler.flow.node import FlowNode, State
from crewgraph.compiler.flow.run import FlowRun, Parked
from crewgraph.core.operations import Program

__all__ = ["WAIT", "MethodNode", "WaitNode"]

WAIT = "__wait__"
"""The name of the node that waits."""


class MethodNode(FlowNode):
    """The node of a method.

    Args:
        name: the method's name.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name, self._steps)

    def _steps(self, run: FlowRun, state: State, config: RunnableConfig) -> Program[Any]:
        progress: Progress = state["progress"]
        run.read(state.get("state") or {}, progress, state.get("inputs"))
        inflight = progress["inflight"]
        if len(inflight) == 1:
            ((name, execution),) = inflight.items()
            return _committed(run, progress, (yield from alone(run, progress, name, execution)))
        yield from all_begun(run, progress)
        return Command(goto=WAIT)


class WaitNode(FlowNode):
    """The node that waits for methods in the background, and commits what has ended."""

    def __init__(self) -> None:
        super().__init__(WAIT, self._steps)

    def _steps(self, run: FlowRun, state: State, config: RunnableConfig) -> Program[Any]:
        progress: Progress = state["progress"]
        run.read(state.get("state") or {}, progress, state.get("inputs"))
        landed = yield from first_landed(run, progress)
        if landed is None:
            return Command(update=answered(run, interrupt({"questions": list(run.parked.values())})), goto=WAIT)
        return _committed(run, progress, landed)


def _committed(run: FlowRun, progress: Progress, landed: Landed) -> Any:
    """The update of what has landed, and where the run goes on."""
    if isinstance(landed, Parked):
        return Command(update=parked(run, landed), goto=WAIT)
    following, _ = completed(run, progress, landed)
    update = finished(run, following, run.changes() if run.stored else {})
    return Command(update=update, goto=_next(run, progress, following))


def _next(run: FlowRun, before: Progress, progress: Progress) -> Sequence[str] | str:
    inflight = progress["inflight"]
    if not inflight:
        return ()
    new = [] if run.failed else [name for name in inflight if name not in before["inflight"]]
    return list(dict.fromkeys(inflight[name]["method"] for name in new)) or WAIT
