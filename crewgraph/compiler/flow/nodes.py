"""The nodes of a flow graph: one for each method, and one that waits.

LangGraph ends a step when the slowest of its nodes has ended, but a listener must not wait for the siblings of its trigger.
So a method that runs alone runs in its node; of several, the first node starts all in the background, and the waiting node
commits those that have ended, in separate steps.
"""

from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.errors import GraphInterrupt
from langgraph.types import Command

from crewgraph.compiler.crew.state import MESSAGES
from crewgraph.compiler.flow.algebra import GraphState, Progress
from crewgraph.compiler.flow.completion import of_run
from crewgraph.compiler.flow.run import FlowRun
from crewgraph.compiler.flow.running import Parked
from crewgraph.compiler.flow.scheduler import Ended, retry_save, run_alone, start_all, wait_for_first
from crewgraph.compiler.flow.updates import (
    answer_update,
    completed,
    park_update,
    question_update,
    result_update,
)
from crewgraph.core.journal import Journal
from crewgraph.core.operations import Program, adrive, drive
from crewgraph.core.pregel import OWN_KEY, RESUMING, answers_of
from crewgraph.errors import RunError

RUN = f"{OWN_KEY}flow_run"
"""The key of a flow's run in the config of its nodes."""


class FlowNode(Runnable[Any, Any]):
    """A node, for invoke and ainvoke alike; see `core.node.BodyNode` for why it is a Runnable.

    Args:
        name: its name.
    """

    name: str | None

    def __init__(self, name: str) -> None:
        self.name = name

    def invoke(self, input: object, config: RunnableConfig | None = None, **kwargs: object) -> Any:
        return drive(self._run_program(input, config))

    async def ainvoke(self, input: object, config: RunnableConfig | None = None, **kwargs: object) -> Any:
        return await adrive(self._run_program(input, config))

    def _run_program(self, state: Any, config: RunnableConfig | None) -> Program[Any]:
        config = ensure_config(config) if config is None else config
        conf = config.get("configurable", {})
        run: FlowRun = conf[RUN]
        run.answers, run.parked = state.get("answers") or {}, state.get("parked") or {}
        steps = self._steps(run, state, config)
        return _answered(steps, config) if conf.get(RESUMING) else steps

    def _steps(self, run: FlowRun, state: GraphState, config: RunnableConfig) -> Program[object]:
        """Do what the node does with the run and the graph's state."""
        raise NotImplementedError


def _answered(steps: Program[object], config: RunnableConfig) -> Program[object]:
    """Take the steps of a node.

    The value that the run was resumed with is forgotten once a question has taken it, or when another question stops the node.
    """
    known = len(answers_of(config))
    try:
        update = yield from steps
    except GraphInterrupt:
        yield from Journal(config).forget_answer(taken=False)
        raise
    if len(answers_of(config)) > known:
        yield from Journal(config).forget_answer(taken=True)
    return update


WAIT = "__wait__"
"""The name of the waiting node."""


class MethodNode(FlowNode):
    """The node of a method."""

    def _steps(self, run: FlowRun, state: GraphState, config: RunnableConfig) -> Program[object]:
        progress: Progress = state["progress"]
        run.read(state)
        if MESSAGES in state and progress["last"] is None and not run.running:
            run.hear(state[MESSAGES])
        inflight = progress["inflight"]
        if len(inflight) == 1:
            ((name, execution),) = inflight.items()
            if execution["method"] == self.name:
                return (yield from _committed(run, state, (yield from run_alone(run, progress, name, execution))))
        elif any(execution["method"] == self.name for execution in inflight.values()):
            yield from start_all(run, progress)
            return Command(goto=WAIT)
        raise _not_due(str(self.name))


class WaitNode(FlowNode):
    """The node that waits for background methods and commits those that have ended."""

    def __init__(self) -> None:
        super().__init__(WAIT)

    def _steps(self, run: FlowRun, state: GraphState, config: RunnableConfig) -> Program[object]:
        progress: Progress = state["progress"]
        run.read(state)
        unsaved = of_run(state, "unsaved")
        if unsaved:
            yield from retry_save(run, unsaved)
            return Command(
                update={"unsaved": None, **result_update(run, progress)}, goto=WAIT if progress["inflight"] else ()
            )
        if not progress["inflight"]:
            raise _not_due(WAIT)
        landed = yield from wait_for_first(run, progress)
        if landed is None:
            return Command(update=answer_update(run, (yield from question_update(run, config))), goto=WAIT)
        return (yield from _committed(run, state, landed))


def _not_due(node: str) -> RunError:
    return RunError(
        f"`{node}` has nothing to do at this point of the run: what runs next follows from the triggers of the flow's methods, "
        "and a `Command(goto=...)` cannot change it. `flow.fork(...)` continues a run from another of its steps."
    )


def _committed(run: FlowRun, state: GraphState, landed: Ended) -> Program[object]:
    """Return the update with the completed executions, and the next nodes."""
    if isinstance(landed, Parked):
        return Command(update=park_update(run, landed), goto=WAIT)
    update = yield from completed(run, state, landed)
    return Command(update=update, goto=_next(run, state["progress"], update["progress"]))


def _next(run: FlowRun, before: Progress, progress: Progress) -> Sequence[str] | str:
    inflight = progress["inflight"]
    if not inflight and run.unsaved is None:
        return ()
    if run.failed or run.unsaved is not None:
        return WAIT
    new = [execution["method"] for name, execution in inflight.items() if name not in before["inflight"]]
    return list(dict.fromkeys(new)) or WAIT
