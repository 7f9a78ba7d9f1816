"""The nodes of a flow's graph: one for each method, and one that waits.

LangGraph ends a step when the slowest of its nodes has ended; a listener must not wait for the siblings of what triggered it.
So a method that runs alone runs in its node; of several each node only begins its method in the background, and the waiting
node commits what has ended, in steps of its own.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, cast

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command, interrupt

from crewgraph.compiler.flow.algebra import Execution, Progress, advanced, check_calls
from crewgraph.compiler.flow.execution import work_of
from crewgraph.compiler.flow.report import FlowReport
from crewgraph.compiler.flow.run import FlowRun, Parked
from crewgraph.compiler.flow.works import Begin, Called, Settle, WaitForAny, Work
from crewgraph.core.operations import Program, adrive, drive
from crewgraph.definitions.flow.feedback import HumanFeedbackResult

__all__ = ["RUN", "WAIT", "MethodNode", "WaitNode"]

RUN = "__crewgraph_flow_run"
"""Where a run of a flow stands in the config of its nodes."""

WAIT = "__wait__"
"""The name of the node that waits."""

_GRACE = 5.0
"""Seconds that methods which cannot be cancelled are waited for once another one has failed."""

_State = Mapping[str, Any]


class _Node(Runnable[Any, Any]):
    """A node, for invoke and ainvoke alike; see `core.node.BodyNode` for why it is a Runnable."""

    name: str | None

    def __init__(self, name: str, program: Callable[[FlowRun, _State], Program[Any]]) -> None:
        self.name = name
        self._program = program

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        return drive(self._program(_run_in(config, input), input))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        return await adrive(self._program(_run_in(config, input), input))


class MethodNode(_Node):
    """The node of a method.

    Args:
        name: the method's name.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name, self._steps)

    def _steps(self, run: FlowRun, state: _State) -> Program[Any]:
        progress: Progress = state["progress"]
        inflight = progress["inflight"]
        if len(inflight) == 1:
            ((name, execution),) = inflight.items()
            return (yield from _alone(run, progress, name, execution))
        for name, execution in inflight.items():
            if execution["method"] == self.name:
                yield from _begun(run, progress, name, execution)
        return Command(goto=WAIT)


class WaitNode(_Node):
    """The node that waits for methods in the background, and commits what has ended."""

    def __init__(self) -> None:
        super().__init__(WAIT, self._steps)

    def _steps(self, run: FlowRun, state: _State) -> Program[Any]:
        progress: Progress = state["progress"]
        inflight = progress["inflight"]
        waiting = {question["execution"] for question in run.parked.values()}
        while True:
            for name, execution in inflight.items():
                if name not in waiting:
                    yield from _begun(run, progress, name, execution)
            works = {name: run.works[name] for name in inflight if name in run.works}
            landed = _landed(run, progress, works)
            if landed is not None:
                return landed
            if not works:
                return _answered(run, interrupt({"questions": list(run.parked.values())}))
            done = [name for name, work in works.items() if work.done()]
            if not done:
                yield from _waited(works.values())
            elif run.failed:
                raise _failure(run, inflight, done)
            else:
                run.failed = True
                yield Settle([work for work in works.values() if not work.done()], _GRACE)


def _landed(run: FlowRun, progress: Progress, works: Mapping[str, Work]) -> Any:
    """The update of what has returned, or of a question that was asked; None where there is neither."""
    ended = [name for name in list(run.ended) if name in works and works[name].done()]
    if ended:
        return _committed(run, progress, [(name, run.works.pop(name).result()) for name in ended])
    for name, work in works.items():
        error = _error_of(work) if work.done() else None
        if isinstance(error, Parked):
            del run.works[name]
            return _parked(run, error)
    return None


def _waited(works: Collection[Work]) -> Program[None]:
    try:
        yield WaitForAny(works)
    except BaseException:  # the run itself is cancelled
        for work in works:
            work.cancel()
        raise


def _run_in(config: RunnableConfig | None, state: _State) -> FlowRun:
    config = ensure_config(config) if config is None else config
    run: FlowRun = config.get("configurable", {})[RUN]
    run.read(state.get("state") or {}, state["progress"])
    run.answers, run.parked = state.get("answers") or {}, state.get("parked") or {}
    return run


def _alone(run: FlowRun, progress: Progress, name: str, execution: Execution) -> Program[Any]:
    """A method that nothing runs beside: in its own node."""
    try:
        value = yield Called(_opened(run, progress, name, execution))
    except GraphBubbleUp:
        raise
    except Parked as parked:
        return _parked(run, parked)
    except BaseException as error:
        FlowReport(run, execution["method"]).failed(error)
        raise
    return _committed(run, progress, [(name, value)])


def _begun(run: FlowRun, progress: Progress, name: str, execution: Execution) -> Program[None]:
    """Begin a method in the background, unless that was done."""
    if name in run.works or run.failed:
        return
    try:
        work = _opened(run, progress, name, execution)
    except Exception as error:  # noqa: BLE001 - raised by the waiting node, once what runs beside has been seen to
        run.works[name] = Future()
        run.works[name].set_exception(error)
    else:
        run.works[name] = yield Begin(work)


def _opened(run: FlowRun, progress: Progress, name: str, execution: Execution) -> Callable[[], Any]:
    """What an execution does, told to begin."""
    check_calls(run.plan, progress, execution["method"], run.flow.max_method_calls)
    work = work_of(run, name, execution)
    FlowReport(run, execution["method"]).begins()
    return work


def _committed(run: FlowRun, progress: Progress, ended: Sequence[tuple[str, Any]]) -> Any:
    """The update of what has ended, and where the run goes on."""
    before = set(progress["inflight"])
    for name, value in ended:
        method = progress["inflight"][name]["method"]
        progress = advanced(run.plan, progress, name, _fired(value), run.finish(name, method, value))
        run.saved(method)
        FlowReport(run, method).ends(value)
    run.forget(progress["results"])
    update: dict[str, Any] = {"progress": progress}
    heard = {name for name in run.answers if name.rpartition(":")[0] in before - set(progress["inflight"])}
    if heard:
        update["answers"] = {name: answer for name, answer in run.answers.items() if name not in heard}
    inflight = progress["inflight"]
    if run.stored:
        update["state"] = run.changes()
    elif not inflight:
        update["state"] = run.shown()
    if not inflight:
        last = progress["last"]
        update["output"] = progress["results"][last] if last is not None else None
        return Command(update=update)
    new = [] if run.failed else [name for name in inflight if name not in before]
    return Command(update=update, goto=list(dict.fromkeys(inflight[name]["method"] for name in new)) or WAIT)


def _fired(value: Any) -> Any:
    """What a method's labels are read from."""
    return value.outcome if isinstance(value, HumanFeedbackResult) and value.outcome is not None else value


def _parked(run: FlowRun, parked: Parked) -> Any:
    """A question is left with the run; other methods go on."""
    question = parked.question
    update: dict[str, Any] = {"parked": {**run.parked, question["id"]: question}}
    if parked.returned:
        update["state"] = run.changes()
    if question["id"] in run.answers:  # an answer that could not be taken
        update["answers"] = {name: answer for name, answer in run.answers.items() if name != question["id"]}
    return Command(update=update, goto=WAIT)


def _answered(run: FlowRun, given: Any) -> Any:
    """Answers, a text for the first question or texts by the questions' ids, for the methods that wait for them."""
    ids = list(run.parked)
    by_id: dict[str, Any] = {ids[0]: given}
    if isinstance(given, Mapping) and set(cast("Mapping[str, Any]", given)) <= set(ids):
        by_id = dict(cast("Mapping[str, Any]", given))
    told = {name: {"text": text, "output": run.parked[name].get("output")} for name, text in by_id.items()}
    left = {name: question for name, question in run.parked.items() if name not in told}
    return Command(update={"answers": {**run.answers, **told}, "parked": left}, goto=WAIT)


def _error_of(work: Any) -> BaseException | None:
    return None if work.cancelled() else work.exception()


def _failure(run: FlowRun, inflight: Mapping[str, Execution], done: Sequence[str]) -> BaseException:
    """The exception of the first method that failed, with a note on those that still run."""
    failures: list[BaseException] = []
    for name in done:
        work = run.works[name]
        error = _error_of(work)
        if error is not None:
            FlowReport(run, inflight[name]["method"]).failed(error)
            failures.append(error)
    still = sorted({inflight[name]["method"] for name in inflight if name in run.works and not run.works[name].done()})
    if still:
        told = ", ".join(f"`{name}`" for name in still)
        failures[0].add_note(f"{told} could not be stopped within {_GRACE:g} seconds; what it returns is thrown away")
    return failures[0]
