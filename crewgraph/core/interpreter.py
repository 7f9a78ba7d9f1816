"""Runs bodies: performs their effects, records the results and answers recorded effects from the journal.

`run_body` is the only interpreter. It yields operations, so one copy serves sync and async runs.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp, GraphInterrupt, ParentCommand
from langgraph.types import Command, Interrupt

from crewgraph.core.cancellation import ExitRequested, Underway, check_cancelled, raised_by_handler
from crewgraph.core.current import CURRENT, is_traced, report_once
from crewgraph.core.effects import (
    Ask,
    Body,
    Call,
    Effect,
    EffectFailed,
    Enter,
    Notify,
    OutcomeUnknown,
    Recorded,
    Scope,
    StepMark,
    Together,
)
from crewgraph.core.journal import Journal, JournalError, Record
from crewgraph.core.limits import SPENT, Stopped, run_meter
from crewgraph.core.operations import Boundary, Parallel, Perform, Program, Spanned
from crewgraph.core.pregel import Used, answers_of, answers_to, answers_waiting, counted, inside_effect, with_answers
from crewgraph.core.questions import EffectAsked, interrupt_id, question_id
from crewgraph.errors import HookAborted, RunError
from crewgraph.redaction import SecretRedactor
from crewgraph.schema import PlainDict
from crewgraph.text import shorten
from crewgraph.tracebacks import note_once, raised_by_signal

T = TypeVar("T")

_USERS = {"callback", "converter", "guardrail"}
"""The kinds of calls of a user's function whose failure names it."""

_DENIED = HookAborted.__name__
"""The type in the record of an effect that a hook denied afterwards."""


def run_body(body: Body[T], journal: Journal, path: str = "") -> Program[T]:
    """Run a body to its result; effects that were recorded before are answered from the journal.

    Args:
        body: the body.
        journal: the records of the node in which it runs.
        path: the prefix of its paths, for nodes that run several bodies.

    Raises:
        RunError: a graph in it returned a command to the graph around it.
        ParentCommand: a tool handed over to a node of the graph around the crew.
    """
    yield from journal.load()
    try:
        return (yield from _run(body, _Frame(journal), path))
    except GeneratorExit:
        raise
    except BaseException as error:  # also a question and a cancellation: the next attempt needs the records
        yield from journal.keep()
        if isinstance(error, GraphInterrupt):
            yield from journal.forget_answer(taken=False)
        if isinstance(error, (Exception, ExitRequested, Stopped)) and not isinstance(error, JournalError):
            yield from journal.clocked()
        if isinstance(error, Stopped):
            yield from journal.stopped(error)
        if isinstance(error, ParentCommand) and error.args[0].graph != (run_meter().node or Command.PARENT):
            node = (journal.config.get("metadata") or {}).get("langgraph_node")
            raise refused_command(error, f"`{node}`") from None
        raise


@dataclass(eq=False)
class _Frame:
    """The context in which the effects of a body or scope are performed."""

    journal: Journal
    own: RunnableConfig | None = None
    """The config of the enclosing span; None outside of spans."""

    deadline: float | None = None
    """When to stop waiting for them, on the monotonic clock; None for no limit."""

    @property
    def config(self) -> RunnableConfig:
        return self.journal.config if self.own is None else self.own

    def within(self, seconds: float) -> "_Frame":
        """Return this frame with at most `seconds` left."""
        deadline = time.monotonic() + seconds
        return replace(self, deadline=deadline if self.deadline is None else min(deadline, self.deadline))


class _EffectPaths:
    """Numbers the effects of a body in the order in which it yields them; the numbers are their paths in the journal."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._position = self._passed = self._aside = 0

    def of(self, effect: Effect) -> str:
        """Return the path of an effect. `aside` calls take a suffix of the next number: adding one renumbers nothing."""
        here = f"{self._path}{self._position}"
        if isinstance(effect, Call) and effect.aside:
            self._aside += 1
            return f"{here}+{self._aside}"
        self._position, self._aside = self._position + 1, 0
        return here

    def passing(self) -> str:
        """Return the path of an effect that is not recorded."""
        self._passed += 1
        return f"{self._path}{self._position}-{self._passed}"


def _run(body: Body[T], frame: _Frame, path: str) -> Program[T]:
    send: Callable[[Any], Effect] = body.send
    value: Any = None
    places = _EffectPaths(path)
    failed: tuple[str, Recorded, Record] | None = None
    try:
        while True:
            try:
                effect = send(value)
            except StopIteration as stop:
                return stop.value
            if isinstance(effect, Notify):
                value, send = _notify(effect, frame, places), body.send
                continue
            if isinstance(effect, Enter):
                value, send = (yield from _enter(effect, frame)), body.send
                continue
            if failed:  # the body handled it and continued with a recorded effect: the failure must replay, too
                yield from frame.journal.write(*failed)
                failed = None
            here = places.of(effect)
            try:
                value, send = (yield from _perform(effect, frame, here)), body.send
            except (GraphBubbleUp, JournalError):
                raise
            except Exception as error:  # noqa: BLE001 - thrown into the body as an EffectFailed
                value, send = (failure := _as_effect_failure(error, effect)), body.throw
                failed = _unrecorded(failure, effect, here)
    except EffectFailed as failure:
        # The body did not handle it: raise the original, whose type says whether a retry makes sense.
        if failure.__cause__ is not None and not isinstance(failure, OutcomeUnknown):
            raise failure.__cause__ from failure.__cause__.__cause__
        raise
    finally:
        body.close()


def _unrecorded(failure: EffectFailed | HookAborted, effect: Effect, here: str) -> tuple[str, Recorded, Record] | None:
    """Return what to record of a failed effect once the body has handled the failure; None for nothing."""
    if not isinstance(effect, Recorded) or isinstance(failure, HookAborted):
        return None
    record: Record = {"error": [failure.type_name, failure.text, failure.package]}
    return here, effect, {**record, SPENT: failure.spent} if failure.spent else record


def _enter(effect: Enter, frame: _Frame) -> Program[None]:
    if frame.journal.stepwise:
        yield Boundary(effect.stage)


def _notify(effect: Notify, frame: _Frame, places: _EffectPaths) -> object:
    reported = CURRENT.get().reported
    if reported is None:
        return effect.notify()
    return report_once(effect.notify, f"{frame.journal.body}#{places.passing()}", reported)


def _as_effect_failure(error: Exception, effect: Effect | None = None) -> EffectFailed | HookAborted:
    """Return what is thrown into a body for an error; raise what a signal handler raised, which ends the run.

    A hook's deny stays what it is: bodies report it, but handle only failures. The error of a user's function gets a note with
    the name of the function.
    """
    if (cause := raised_by_signal(error)) is not None:
        raise cause
    if isinstance(error, (EffectFailed, HookAborted)):
        return error
    if isinstance(effect, Call) and effect.kind in _USERS and f"`{effect.name}`" not in str(error):
        note_once(error, f"in {effect.kind} `{effect.name}`")
    kind = type(error)
    module = "langchain_core" if raised_by_handler(error) else kind.__module__
    failure = EffectFailed(kind.__name__, SecretRedactor().redact(str(error)), module.partition(".")[0])
    failure.__cause__ = error
    return failure


def _perform(effect: Effect, frame: _Frame, here: str) -> Program[object]:
    """Return the program that answers an effect from its record at the path `here`, or performs and records it."""
    if isinstance(effect, Ask):
        return _ask(effect, frame, here)
    if isinstance(effect, Recorded):
        return _perform_recorded(effect, frame, here)
    if isinstance(effect, Scope):
        return _run_scope(effect, frame, here)
    if isinstance(effect, StepMark):
        return frame.journal.mark(here, effect)
    if isinstance(effect, Together):
        return _perform_together(effect, frame, here)
    raise TypeError(f"a body yielded `{type(effect).__name__}`, which is not an effect")


def _find_record(effect: Recorded, frame: _Frame, here: str) -> Program[Record | None]:
    """Return the record of an effect, None without one; advance the node's counters by what the effect used of them."""
    journal = frame.journal
    record = journal.answer(here, effect)
    if record is None and journal.stepwise:
        yield Boundary(effect.stage, {here: effect})
        record = journal.answer(here, effect)  # the caller who resumed the run may have answered it
    if record is not None:
        counted(frame.config, record)
        journal.spent.count(record)
        if "error" in record:
            type_name, text, package = record["error"]
            if type_name == _DENIED:
                raise HookAborted(text)
            raise EffectFailed(type_name, text, package, spent=record.get(SPENT))
    return record


def _perform_recorded(effect: Recorded, frame: _Frame, here: str) -> Program[object]:
    journal = frame.journal
    if journal.stepwise or journal.known:
        record = yield from _find_record(effect, frame, here)
        if record is not None:
            return record["value"]
    check_cancelled()
    if journal.claim is not None and journal.claim.is_doubtful:
        yield from journal.check_owner()
    inside = _inside(effect, frame, here) if effect.asks else _Inside(frame.config)
    performing = Perform(effect, inside.config, frame.deadline, recorded=journal.saver is not None)
    underway = performing.underway
    if effect.once:
        yield from _start_once(effect, journal, here, underway)
    try:
        value = yield performing
    except (Exception, ExitRequested) as error:  # what the failed effect has spent counts, whatever failed it
        failure = yield from _failed(error, performing, frame, here, inside)
        if failure is None:
            raise
        raise failure from failure.__cause__
    record = {"value": value, **inside.used(), **performing.spent}
    journal.spent.count(record)
    if len(inside.answers) > inside.known:
        yield from journal.forget_answer(taken=True)
    yield from journal.write(here, effect, record, underway)
    if underway is not None and underway.is_requested:
        raise asyncio.CancelledError(*underway.reason)
    return value


class _Inside(NamedTuple):
    """What user code inside an effect gets of its node."""

    config: RunnableConfig
    used: Used = dict
    asked: Callable[[], int] = int
    """Returns how often it has called `interrupt`."""

    answers: Sequence[object] = ()
    known: int = 0
    """How many answers there were before it began."""


def _inside(effect: Recorded, frame: _Frame, here: str) -> _Inside:
    around = frame.config
    if frame.journal.place.again:
        around = with_answers(around, _answers(effect, frame, here), only=False)
    own, used, asked = inside_effect(around, here)
    answers = answers_of(own)
    return _Inside(own, used, asked, answers, len(answers))


def _failed(
    error: Exception | ExitRequested, performing: Perform, frame: _Frame, here: str, inside: _Inside
) -> Program[BaseException | None]:
    """Record what failed for good; return what to raise in place of an effect's error, None to raise that."""
    effect, journal, underway = performing.effect, frame.journal, performing.underway
    journal.spent.count(performing.spent)
    is_cancelled = underway is not None and underway.is_requested
    failed = _failed_for_good(error, is_last=is_cancelled and effect.once)
    if failed is not None:
        if len(inside.answers) > inside.known:
            yield from journal.forget_answer(taken=True)
        yield from journal.write(here, effect, {"error": failed, **inside.used(), **performing.spent}, underway)
    if underway is not None and is_cancelled:
        raise asyncio.CancelledError(*underway.reason) from None
    if isinstance(error, GraphInterrupt):
        return (yield from _raised_question(error, effect, frame, here, inside.answers, inside.asked()))
    return _paid_failure(error, performing.spent.get(SPENT, {}))


def _answers(effect: Recorded, frame: _Frame, here: str) -> list[object]:
    """Return the answers to an effect's interrupts, in order: the stored ones and a new one.

    They are found by ids of our own. LangGraph hands out answers by position, and if an answer to a node's first question is
    delivered twice, the second question gets it, too.
    """
    journal, answers = frame.journal, list[object]()
    while (stored := journal.started(f"{here}={len(answers)}", effect)) is not None:
        answers += stored
    new = interrupt_id(journal.place.task, here, effect.key(), len(answers))
    return [*answers, *answers_to(frame.config, new)]


def _raised_question(
    stop: GraphInterrupt, effect: Recorded, frame: _Frame, here: str, answers: Sequence[object], asked: int
) -> Program[EffectAsked]:
    """Return what to raise when an effect has called `interrupt` so often; store the answers that it got.

    Interrupts of graphs inside it have ids of their own.
    """
    journal, questions = frame.journal, stop.args[0]
    for number, answer in enumerate(answers):
        if journal.started(f"{here}={number}", effect) is None:
            yield from journal.pose(f"{here}={number}", effect, [answer])
    if asked > len(answers):
        own = interrupt_id(journal.place.task, here, effect.key(), len(answers))
        questions = [Interrupt(item.value, own, response_schema=item.response_schema) for item in questions]
    return EffectAsked(questions)


def _start_once(effect: Recorded, journal: Journal, here: str, underway: Underway | None) -> Program[None]:
    if journal.started(here, effect) is not None:
        raise OutcomeUnknown(
            "OutcomeUnknown", f"{effect.label} was started before a crash, and it is unknown whether it finished"
        )
    if not (yield from journal.start(here, effect, underway)):
        raise OutcomeUnknown(
            "OutcomeUnknown", f"{effect.label} was started by another run of this thread, and is not started twice"
        )


def _failed_for_good(error: Exception | ExitRequested, *, is_last: bool) -> list[str] | None:
    """Return what to record at once of the failure of an effect that is not to be repeated; None for nothing.

    Args:
        error: the failure.
        is_last: whether the run then stops, and the effect is to happen once. Else what its body handles is recorded.
    """
    if isinstance(error, HookAborted):
        return [_DENIED, error.reason, "crewgraph"] if error.has_happened else None
    if not is_last or isinstance(error, (GraphBubbleUp, JournalError, ExitRequested)) or raised_by_signal(error):
        return None
    failure = _as_effect_failure(error)
    return None if isinstance(failure, HookAborted) else [failure.type_name, failure.text, failure.package]


def _paid_failure(error: Exception | ExitRequested, spent: PlainDict) -> EffectFailed | None:
    """Return the failure of an effect with what it has spent, which its record counts; None if it is another error, or free."""
    if not spent.get("used") or isinstance(error, (GraphBubbleUp, JournalError, ExitRequested)):
        return None
    failure = _as_effect_failure(error)
    if isinstance(failure, HookAborted):
        return None
    failure.spent = spent
    return failure


def _ask(ask: Ask, frame: _Frame, here: str) -> Program[object]:
    journal = frame.journal
    record = yield from _find_record(ask, frame, here)
    if record is not None:
        return record["value"]
    check_cancelled()
    if journal.saver is None:
        raise RunError(
            "a person has to answer a question, but there is no terminal, and the run is not checkpointed, so it cannot "
            "wait. Run it with a checkpointer (`crew.compile(checkpointer=...)`, or that of the graph around it; for a kickoff, "
            f"without `checkpointer=False`), or in a terminal. The question: {shorten(_question_text(ask), 300)}"
        )
    name = question_id(journal.place.task, here, ask.key())
    answer = yield from journal.filed(name)
    record = {"value": answer["value"]} if answer else (yield from _interrupt(ask, frame, here, name))
    yield from journal.write(here, ask, record)
    if ask.answered is not None:
        ask.answered(record["value"])
    return record["value"]


def _interrupt(ask: Ask, frame: _Frame, here: str, name: str) -> Program[Record]:
    """Return the record of the answer that the graph was resumed with, or interrupt the run.

    A question takes no answer before it was asked, so that it never takes the answer to another question, which an edited
    definition no longer asks.
    """
    journal = frame.journal
    posed = ask
    if isinstance(ask.question, dict):
        posed = replace(ask, question={**cast("PlainDict", ask.question), **(ask.payload or {}), "id": name})
    was_asked, answers = journal.started(here, ask) is not None, _answers(ask, frame, here)
    config, known = with_answers(frame.config, answers, only=False), len(answers)
    while True:
        try:
            value = posed.perform(config)
        except GraphInterrupt as stop:
            if not was_asked:
                yield from journal.pose(here, ask, True)
                if ask.asked is not None:
                    ask.asked()
            raise (yield from _raised_question(stop, ask, frame, here, (), 1)) from None
        if was_asked:
            break
    if len(answers) > known:
        yield from journal.forget_answer(taken=True)
    return {"value": value}


def _question_text(ask: Ask) -> str:
    return str(ask.shown.get("text") or ask.question)


def _run_scope(scope: Scope, frame: _Frame, here: str) -> Program[object]:
    if scope.seconds is not None:
        frame = frame.within(scope.seconds)
    # Without handlers the span is invisible, and a span cannot stay open across the steps of a graph.
    if frame.journal.stepwise or not scope.name or not is_traced(frame.config):
        return (yield from _run(scope.body(), frame, f"{here}."))
    return (yield Spanned(scope, frame.config, lambda own: _run(scope.body(), replace(frame, own=own), f"{here}.")))


def _perform_together(effect: Together, frame: _Frame, here: str) -> Program[list[object]]:
    if frame.journal.stepwise:
        branches = {f"{here}.{n}": item for n, item in enumerate(effect.effects) if isinstance(item, (Recorded, Scope))}
        left = {path: item for path, item in branches.items() if not _is_begun(item, frame.journal, path)}
        for first in list(left.values())[:1]:
            yield Boundary(first.stage, left)
    branches = [_perform(item, frame, f"{here}.{n}") for n, item in enumerate(effect.effects)]
    if len(branches) > 1 and not answers_waiting(frame.config):
        outcomes = yield Parallel(branches, frame.journal.claim)
    else:
        outcomes = yield from _one_by_one(branches)
    asked = [outcome for outcome in outcomes if isinstance(outcome, EffectAsked)]
    if len(asked) < 2:
        return _results_of(outcomes)
    raise EffectAsked([question for stop in asked for question in stop.args[0]])


def _one_by_one(branches: list[Program[object]]) -> Program[list[object]]:
    """Perform branches in order, because the run was resumed with a value, for which they would race."""
    outcomes: list[object] = []
    for branch in branches:
        try:
            outcomes.append((yield from branch))
        except EffectAsked as stop:
            outcomes.append(stop)  # it has left no answer to others
        except (GraphBubbleUp, JournalError):
            raise  # the next branch may ask only after this one is answered
        except Exception as error:  # raised after every branch has ended
            if raised_by_signal(error):
                raise
            outcomes.append(error)
    return outcomes


def _is_begun(effect: Recorded | Scope, journal: Journal, path: str) -> bool:
    """Whether another step of the graph has performed it, or a part of it."""
    if isinstance(effect, Recorded):
        return journal.answer(path, effect) is not None
    return not effect.stage or journal.holds(path)


def _results_of(outcomes: list[object]) -> list[object]:
    failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    for failure in failures:
        if not isinstance(failure, Exception) or isinstance(failure, (GraphBubbleUp, JournalError, HookAborted)):
            raise failure
    if failures:
        raise failures[0]
    return outcomes


WAY_OUT = (
    "To go elsewhere in a graph around the crew or flow, add a conditional edge there that reads its `output`, or call its "
    "`invoke` in a node that returns the command."
)
"""What to do in place of a command in a task or method."""


def refused_command(left: ParentCommand, where: str) -> RunError:
    """Return the error for a command to the graph around one that a task or method runs.

    LangGraph would apply it to the node of the task or method, which would then end without a result.
    """
    goto: object = cast("Command[Any]", left.args[0]).goto
    return RunError(
        f"a graph inside {where} returned a `Command` for the graph around it (goto={goto!r:.80}), but crews and flows determine "
        f"themselves what runs next. Let that graph end with data. {WAY_OUT}"
    )
