"""The scheduler runs executions: one at a time, or several in the background."""

from asyncio import CancelledError
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from itertools import takewhile
from typing import Any, NamedTuple

from langgraph.errors import GraphBubbleUp

from crewgraph.compiler.flow.algebra import Execution, Progress, check_calls
from crewgraph.compiler.flow.background import Begin, Called, Settle, WaitForAny, Work
from crewgraph.compiler.flow.execution import called_with, work_of
from crewgraph.compiler.flow.report import FlowReport
from crewgraph.compiler.flow.run import FlowRun
from crewgraph.compiler.flow.running import Parked
from crewgraph.compiler.flow.saving import saved
from crewgraph.core.cancellation import check_cancelled
from crewgraph.core.operations import Program
from crewgraph.errors import RunError, StateInvalid

__all__ = ["GRACE", "Landed", "MethodEnd", "all_begun", "first_landed", "run_alone", "saved_again"]


GRACE = 5.0
"""Seconds that methods which cannot be cancelled are waited for once another one has failed."""


class MethodEnd(NamedTuple):
    """Executions that have ended."""

    values: Sequence[tuple[str, Any]]
    """The executions, with their results."""

    changed: Mapping[str, Any]
    """Their changes of the state."""


Landed = MethodEnd | Parked
"""Completed executions, or one that asks a question."""


def run_alone(run: FlowRun, progress: Progress, name: str, execution: Execution) -> Program[Landed]:
    """Run a method that runs alone."""
    check_cancelled()
    try:
        return (yield from _ran(run, progress, name, execution))
    except GraphBubbleUp:
        raise
    except BaseException as error:
        FlowReport(run, name, execution["method"]).failed(error)
        raise


def _ran(run: FlowRun, progress: Progress, name: str, execution: Execution) -> Program[Landed]:
    try:
        value = yield Called(_opened(run, progress, name, execution))
    except Parked as parked:
        return _left(run, parked)
    return MethodEnd([(name, value)], run.changes([name]))


def all_begun(run: FlowRun, progress: Progress) -> Program[None]:
    """Start the scheduled executions in the background, in order, unless they are started."""
    waiting = {question["execution"] for question in run.parked.values()}
    with run.beginning:  # LangGraph runs the nodes of a step side by side, and in an order of its own
        for name, execution in progress["inflight"].items():
            if name not in waiting:
                yield from _begun(run, progress, name, execution)


def _begun(run: FlowRun, progress: Progress, name: str, execution: Execution) -> Program[None]:
    if name in run.works or run.failed:
        return
    check_cancelled()
    try:
        work = _opened(run, progress, name, execution)
    except Exception as error:  # noqa: BLE001 - raised by the waiting node, once what runs beside has been seen to
        run.works[name] = Future()
        run.works[name].set_exception(error)
    else:
        run.works[name] = yield Begin(work)


def first_landed(run: FlowRun, progress: Progress) -> Program[Landed | None]:
    """Start the scheduled executions and wait for the first to end; None if all wait for answers."""
    inflight = progress["inflight"]
    while True:
        yield from all_begun(run, progress)
        works = {name: run.works[name] for name in inflight if name in run.works}
        landed = _landed(run, works)
        if landed is not None or not works:
            return landed
        # What has ended since it was looked at, with a value or a question, lands in the next round.
        failed = [name for name, work in works.items() if work.done() and _has_failed(work)]
        if not failed:
            ending = [works[name] for name in list(run.ended) if name in works]
            yield from _waited(ending[:1] or works.values(), works.values())
        elif run.failed:
            raise _failure(run, inflight, failed)
        else:
            run.failed = True
            yield Settle([work for work in works.values() if not work.done()], GRACE)


def saved_again(run: FlowRun, method: str) -> Program[None]:
    """Have the state saved where that failed before; once it has failed in this process the run ends.

    Raises:
        StorageError: it could not be saved.
    """
    if run.unsaved is None:
        saved(run, method)
    if run.unsaved is not None:
        run.failed = True
        yield Settle([work for work in run.works.values() if not work.done()], GRACE)
        raise run.unsaved[1]


def _landed(run: FlowRun, works: Mapping[str, Work]) -> Landed | None:
    # In the order in which they ended; the thread of the first may be about to.
    ended = list(takewhile(lambda name: works[name].done(), [name for name in list(run.ended) if name in works]))
    while ended:
        try:
            changed = run.changes(ended)
        except StateInvalid as error:
            ended.remove(error.execution)
            run.ended.remove(error.execution)
            _fail(run, error)
        else:
            return MethodEnd([(name, run.works.pop(name).result()) for name in ended], changed)
    for name, work in works.items():
        error = _error_of(work) if work.done() else None
        if isinstance(error, Parked):
            try:
                left = _left(run, error)
            except StateInvalid as invalid:
                _fail(run, invalid)
            else:
                del run.works[name]
                return left
    return None


def _left(run: FlowRun, parked: Parked) -> Parked:
    """A question, with the changes of its method, if it has returned."""
    if parked.returned:
        parked.changed = run.changes([parked.question["execution"]])
    return parked


def _fail(run: FlowRun, error: StateInvalid) -> None:
    """Raise it as if by the method."""
    failed = run.works[error.execution] = Future[Any]()
    failed.set_exception(error)


def _waited(awaited: Collection[Work], works: Collection[Work]) -> Program[None]:
    try:
        yield WaitForAny(awaited)
    except BaseException:  # the run itself is cancelled
        for work in works:
            work.cancel()
        raise


def _opened(run: FlowRun, progress: Progress, name: str, execution: Execution) -> Callable[[], Any]:
    """Start an execution and return its work."""
    check_calls(run.plan, progress, execution["method"], run.flow.max_method_calls)
    args, keywords = called_with(run, execution)
    FlowReport(run, name, execution["method"]).begins(execution["source"], args, keywords)
    return work_of(run, name, execution, args, keywords)


def _has_failed(work: object) -> bool:
    error = _error_of(work)
    return error is not None and not isinstance(error, Parked)


def _error_of(work: Any) -> BaseException | None:
    return CancelledError() if work.cancelled() else work.exception()


def _failure(run: FlowRun, inflight: Mapping[str, Execution], names: Sequence[str]) -> BaseException:
    """Return the exception of the first failed method, with a note about those still running."""
    errors = {name: error for name in names if (error := _error_of(run.works[name])) is not None}
    # What was cancelled because another one failed is no failure; what cancelled itself is.
    failed = {name: error for name, error in errors.items() if not isinstance(error, CancelledError)} or errors
    for name, error in failed.items():
        FlowReport(run, name, inflight[name]["method"]).failed(error)
    failure = next(iter(failed.values()))
    if isinstance(failure, CancelledError):
        method = inflight[next(iter(failed))]["method"]
        failure = RunError(f"method `{method}` of flow `{run.name}` was cancelled by its own code")
    for name, error in list(failed.items())[1:]:
        failure.add_note(f"method `{inflight[name]['method']}` failed, too: {type(error).__name__}: {error}")
    still = sorted({inflight[name]["method"] for name in inflight if name in run.works and not run.works[name].done()})
    if still:
        told = ", ".join(f"`{name}`" for name in still)
        failure.add_note(f"{told} could not be stopped within {GRACE:g} seconds; what it returns is thrown away")
    return failure
