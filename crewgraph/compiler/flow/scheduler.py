"""The scheduler runs executions: one at a time, or several in the background."""

from asyncio import CancelledError
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from itertools import takewhile
from typing import NamedTuple

from langgraph.errors import GraphBubbleUp

from crewgraph.compiler.flow.algebra import Execution, Progress, check_calls
from crewgraph.compiler.flow.background import GRACE, Begin, StartingTurn, Work, called, settle, wait_for_any
from crewgraph.compiler.flow.execution import execution_arguments, execution_work
from crewgraph.compiler.flow.report import FlowReport
from crewgraph.compiler.flow.run import FlowRun
from crewgraph.compiler.flow.running import Parked
from crewgraph.compiler.flow.saving import save_state
from crewgraph.core.cancellation import RunAbandoned, check_cancelled
from crewgraph.core.operations import Program
from crewgraph.errors import RunError


class MethodEnd(NamedTuple):
    """Executions that have ended."""

    values: Sequence[tuple[str, object]]
    """The executions, with their results."""

    changed: Mapping[str, object]
    """Their changes of the state."""


Ended = MethodEnd | Parked
"""Completed executions, or one that asks a question."""


def run_alone(run: FlowRun, progress: Progress, name: str, execution: Execution) -> Program[Ended]:
    """Run a method that runs alone."""
    run.check_cancelled()
    try:
        try:
            value = yield called(_opened_work(run, progress, name, execution), run.cancellation)
        except Parked as parked:
            return _with_changes(run, parked)
        except RunAbandoned:
            check_cancelled()
            raise CancelledError(*run.cancellation.reason) from None
        return MethodEnd([(name, value)], run.changes([name]))
    except (GeneratorExit, GraphBubbleUp):
        raise
    except BaseException as error:  # any error of the user's method is reported, then raised again
        FlowReport(run, name, execution["method"]).failed(error)
        raise


def start_all(run: FlowRun, progress: Progress) -> Program[None]:
    """Start the scheduled executions in the background, in order, unless already started."""
    waiting = {question["execution"] for question in run.parked.values()}
    with run.beginning:  # LangGraph runs the nodes of a step in parallel, in any order
        new = [name for name in progress["inflight"] if name not in waiting and name not in run.works]
        turn: StartingTurn | None = None
        for name in new:
            turn = StartingTurn(turn) if len(new) > 1 else None
            yield from _start_execution(run, progress, name, turn)


def _start_execution(run: FlowRun, progress: Progress, name: str, turn: StartingTurn | None) -> Program[None]:
    if run.failed:
        return
    run.check_cancelled()
    execution = progress["inflight"][name]
    try:
        work = _opened_work(run, progress, name, execution)
    except Exception as error:  # noqa: BLE001 - raised by the node that awaits it, after parallel methods were handled
        if turn is not None:
            turn.pass_on()
        run.works[name] = Future()
        run.works[name].set_exception(error)
    else:
        run.works[name] = yield Begin(work, run.cancellation, turn)


def wait_for_first(run: FlowRun, progress: Progress) -> Program[Ended | None]:
    """Start the scheduled executions and wait for the first to end; None if all wait for answers."""
    inflight = progress["inflight"]
    while True:
        run.check_cancelled()
        yield from start_all(run, progress)
        works = {name: run.works[name] for name in inflight if name in run.works}
        ended_methods = _next_ended(run, works)
        if ended_methods is not None or not works:
            return ended_methods
        # Executions that have ended since the check, with a value or a question, are handled in the next round.
        failed = [name for name, work in works.items() if work.done() and _has_failed(work)]
        if not failed:
            ending = [works[name] for name in list(run.ended) if name in works]
            yield wait_for_any(ending[:1] or works.values(), works.values(), run.cancellation)
            if run.cancellation.is_requested:
                landed = _next_ended(run, works)
                if landed is None:
                    raise CancelledError(*run.cancellation.reason)
                return landed
        elif run.failed:
            raise _failure(run, inflight, failed)
        else:
            run.failed = True
            yield settle(works.values())


def retry_save(run: FlowRun, method: str) -> Program[None]:
    """Retry a failed save of the state; after a failure in this process the run ends.

    Raises:
        StorageError: it could not be saved.
    """
    if run.unsaved is None:
        yield from save_state(run, method)
    if run.unsaved is not None:
        run.failed = True
        yield settle(run.works.values())
        raise run.unsaved[1]


def _next_ended(run: FlowRun, works: Mapping[str, Work]) -> Ended | None:
    # In the order in which they ended; the thread of the first may be about to.
    ended = list(takewhile(lambda name: works[name].done(), [name for name in list(run.ended) if name in works]))
    if ended:
        changed = run.changes(ended)
        return MethodEnd([(name, run.works.pop(name).result()) for name in ended], changed)
    for name, work in works.items():
        error = _error_of(work) if work.done() else None
        if isinstance(error, Parked):
            question = _with_changes(run, error)
            del run.works[name]
            return question
    return None


def _with_changes(run: FlowRun, parked: Parked) -> Parked:
    """Return a question with the state changes of its method, if the method has returned."""
    if parked.returned:
        parked.changed = run.changes([parked.questions[0]["execution"]])
    return parked


def _opened_work(run: FlowRun, progress: Progress, name: str, execution: Execution) -> Callable[[], object]:
    """Start an execution and return its work."""
    check_calls(run.topology, progress, execution["method"], run.flow.max_method_calls)
    args, keywords = execution_arguments(run, name, execution)
    return execution_work(run, name, execution, args, keywords)


def _has_failed(work: Work) -> bool:
    error = _error_of(work)
    return error is not None and not isinstance(error, Parked)


def _error_of(work: Work) -> BaseException | None:
    return CancelledError() if work.cancelled() else work.exception()


def _failure(run: FlowRun, inflight: Mapping[str, Execution], names: Sequence[str]) -> BaseException:
    """Return the exception of the first failed method, with a note about those still running."""
    errors = {name: error for name in names if (error := _error_of(run.works[name])) is not None}
    # A method cancelled because another one failed has not failed itself; one that cancelled itself has.
    failed = {name: error for name, error in errors.items() if not isinstance(error, CancelledError)} or errors
    for name, error in failed.items():
        FlowReport(run, name, inflight[name]["method"]).failed(error)
    failure = next(iter(failed.values()))
    if isinstance(failure, CancelledError):
        method = inflight[next(iter(failed))]["method"]
        failure = RunError(f"method `{method}` of flow `{run.name}` was cancelled by its own code")
    for name, error in list(failed.items())[1:]:
        failure.add_note(f"method `{inflight[name]['method']}` failed, too: {type(error).__name__}: {error}")
    unfinished = sorted(
        {inflight[name]["method"] for name in inflight if name in run.works and not run.works[name].done()}
    )
    if unfinished:
        names_text = ", ".join(f"`{name}`" for name in unfinished)
        failure.add_note(f"{names_text} could not be stopped within {GRACE:g} seconds; its result is discarded")
    return failure
