"""The rules of performing and recording effects: one generator of operations for every body, sync and async."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp, GraphInterrupt

from crewgraph.core.cancellation import check_cancelled
from crewgraph.core.effects import (
    Ask,
    Body,
    Call,
    Effect,
    EffectFailed,
    Enter,
    Mark,
    Notify,
    OutcomeUnknown,
    Recorded,
    Scope,
    Together,
)
from crewgraph.core.journal import Journal, JournalError, Record
from crewgraph.core.limits import Stopped
from crewgraph.core.operations import Boundary, Parallel, Perform, Program, Spanned
from crewgraph.core.pregel import answers_waiting, counted, inside_effect
from crewgraph.core.questions import question_id
from crewgraph.core.replay import REPORTED, is_traced, report_once
from crewgraph.errors import RunError

__all__ = ["run_body"]


T = TypeVar("T")


def run_body(body: Body[T], journal: Journal) -> Program[T]:
    """A body from its first effect to its result, answered from the journal where it ran before."""
    yield from journal.load()
    try:
        return (yield from _played(body, _Frame(journal), ""))
    except GeneratorExit:
        raise
    except BaseException as error:
        yield from journal.keep()
        if isinstance(error, (Exception, Stopped)) and not isinstance(error, JournalError):
            yield from journal.clocked()
        raise


@dataclass(frozen=True)
class _Frame:
    """What the effects of a body are performed in."""

    journal: Journal
    own: RunnableConfig | None = None
    """The config of the span around them, where there is one."""

    deadline: float | None = None
    """When they are not waited for any longer, on the monotonic clock."""

    @property
    def config(self) -> RunnableConfig:
        return self.journal.config if self.own is None else self.own

    def within(self, seconds: float | None) -> "_Frame":
        """The same with less time, if any bound is given."""
        if seconds is None:
            return self
        deadline = time.monotonic() + seconds
        return replace(self, deadline=deadline if self.deadline is None else min(deadline, self.deadline))


class _Places:
    """The paths of a body's effects, as they come up."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._position = self._passed = self._aside = 0

    def of(self, effect: Effect) -> str:
        """Where an effect is recorded: the number it has in the body, or beside the number of what follows it."""
        here = f"{self._path}{self._position}"
        if isinstance(effect, Call) and effect.aside:
            self._aside += 1
            return f"{here}+{self._aside}"
        self._position, self._aside = self._position + 1, 0
        return here

    def passing(self) -> str:
        """The place of what is told and not recorded."""
        self._passed += 1
        return f"{self._path}{self._position}-{self._passed}"


def _played(body: Body[T], frame: _Frame, path: str) -> Program[T]:
    send: Callable[[Any], Effect] = body.send
    value: Any = None
    places = _Places(path)
    failed: tuple[str, Recorded, Record] | None = None
    try:
        while True:
            effect = send(value)
            if isinstance(effect, (Notify, Enter)):
                value, send = (yield from _passing(effect, frame, places.passing())), body.send
                continue
            if failed:  # the body went on, with more than telling: the failure is a part of its story
                yield from frame.journal.write(*failed)
                failed = None
            here = places.of(effect)
            try:
                value, send = (yield from _performed(effect, frame, here)), body.send
            except (GraphBubbleUp, JournalError):
                raise
            except Exception as error:  # noqa: BLE001 - thrown into the body as what it may see
                seen = _seen(error)
                value, send = seen, body.throw
                if isinstance(effect, Recorded):
                    failed = (here, effect, {"error": [seen.type_name, seen.text, seen.package]})
    except StopIteration as stop:
        return stop.value
    except EffectFailed as failure:
        # The body let it pass: the caller gets the original, whose type says whether a retry makes sense.
        if failure.__cause__ is not None and not isinstance(failure, OutcomeUnknown):
            raise failure.__cause__ from failure.__cause__.__cause__
        raise
    finally:
        body.close()


def _passing(effect: Notify | Enter, frame: _Frame, here: str) -> Program[object]:
    """What has no place in the record."""
    if isinstance(effect, Notify):
        told = REPORTED.get()
        return effect.tell() if told is None else report_once(effect.tell, f"{frame.journal.body}#{here}", told)
    if frame.journal.stepwise:
        yield Boundary(effect.stage)
    return None


def _seen(error: Exception) -> EffectFailed:
    if isinstance(error, EffectFailed):
        return error
    kind = type(error)
    seen = EffectFailed(kind.__name__, str(error), kind.__module__.partition(".")[0])
    seen.__cause__ = error
    return seen


def _performed(effect: Effect, frame: _Frame, here: str) -> Program[Any]:
    """One effect at the path `here`: answered, or performed and recorded."""
    if isinstance(effect, Ask):
        return (yield from _asked(effect, frame, here))
    if isinstance(effect, Recorded):
        return (yield from _recorded(effect, frame, here))
    if isinstance(effect, Mark):
        return (yield from frame.journal.mark(here, effect))
    if isinstance(effect, Scope):
        return (yield from _scoped(effect, frame, here))
    if isinstance(effect, Together):
        return (yield from _together(effect, frame, here))
    raise TypeError(f"a body yielded `{type(effect).__name__}`, which is no effect to be performed here")


def _remembered(effect: Recorded, frame: _Frame, here: str) -> Program[Record | None]:
    """The record of an effect, if there is one; what it used of the node's counters is counted."""
    journal = frame.journal
    record = journal.answer(here, effect)
    if record is None and journal.stepwise:
        yield Boundary(effect.stage, {here: effect})
        record = journal.answer(here, effect)  # whoever stopped here may have answered it himself
    if record is not None:
        counted(frame.config, record)
        journal.spent.count(record)
        if "error" in record:
            raise EffectFailed(*record["error"])
    return record


def _recorded(effect: Recorded, frame: _Frame, here: str) -> Program[object]:
    journal = frame.journal
    record = yield from _remembered(effect, frame, here)
    if record is not None:
        return record["value"]
    check_cancelled()
    if effect.once:
        if journal.started(here, effect) is not None:
            raise OutcomeUnknown(
                "OutcomeUnknown", f"{effect.label} was started before a crash, and nobody knows whether it ended"
            )
        yield from journal.start(here, effect)
    own, used = inside_effect(frame.config, here) if effect.asks else (frame.config, dict)
    performing = Perform(effect, own, frame.deadline)
    try:
        value = yield performing
    except Exception:
        journal.spent.count(performing.spent)
        raise
    record = {"value": value, **used(), **performing.spent}
    journal.spent.count(record)
    yield from journal.write(here, effect, record)
    return value


def _asked(ask: Ask, frame: _Frame, here: str) -> Program[Any]:
    journal = frame.journal
    record = yield from _remembered(ask, frame, here)
    if record is not None:
        return record["value"]
    check_cancelled()
    if journal.saver is None:
        raise RunError(
            f"{_text_of(ask)}: there is nobody to ask, and the run is kept nowhere, so it cannot wait for an answer. Run "
            "it where its runs are kept (a crew without `checkpointer=False`, a graph with a checkpointer), or at a terminal."
        )
    name = question_id(journal.place.task, here, ask.key())
    found = yield from journal.filed(name)
    record = {"value": found["value"]} if found else (yield from _interrupted(ask, frame, here, name))
    yield from journal.write(here, ask, record)
    if ask.answered is not None:
        ask.answered(record["value"])
    return record["value"]


def _interrupted(ask: Ask, frame: _Frame, here: str, name: str) -> Program[Record]:
    """The answer that the graph was resumed with; where there is none, the run stops.

    LangGraph hands out answers by position. So that this question gets no answer that was given to another one, which an
    edited definition no longer asks, it takes none before it was asked.
    """
    journal = frame.journal
    posed = ask
    if isinstance(ask.question, dict):
        posed = replace(ask, question={**cast("dict[str, Any]", ask.question), "id": name})
    asked, passed = journal.started(here, ask), 0
    while True:
        try:
            value = posed.perform(frame.config)
        except GraphInterrupt:
            if asked is None:
                yield from journal.pose(here, ask, passed)
                if ask.asked is not None:
                    ask.asked()
            raise
        passed += 1
        if asked is not None and passed > asked:
            return {"value": value, "asks": passed}


def _text_of(ask: Ask) -> str:
    return str(ask.shown.get("text") or ask.question)


def _scoped(scope: Scope, frame: _Frame, here: str) -> Program[Any]:
    frame = frame.within(scope.seconds)
    # Nobody would see the span; and a span cannot be open across the steps of a graph.
    if frame.journal.stepwise or not is_traced(frame.config):
        return (yield from _played(scope.body(), frame, f"{here}."))
    return (yield Spanned(scope, frame.config, lambda own: _played(scope.body(), replace(frame, own=own), f"{here}.")))


def _together(effect: Together, frame: _Frame, here: str) -> Program[list[Any]]:
    if frame.journal.stepwise:
        branches = {f"{here}.{n}": one for n, one in enumerate(effect.effects) if isinstance(one, (Recorded, Scope))}
        left = {path: one for path, one in branches.items() if not _begun(one, frame.journal, path)}
        for first in list(left.values())[:1]:
            yield Boundary(first.stage, left)
    branches = [_performed(one, frame, f"{here}.{n}") for n, one in enumerate(effect.effects)]
    if len(branches) > 1 and not answers_waiting(frame.config):
        return _settled((yield Parallel(branches)))
    outcomes: list[object] = []
    for branch in branches:
        try:
            outcomes.append((yield from branch))
        except (GraphBubbleUp, JournalError):
            raise  # the next question waits for this answer
        except Exception as error:  # noqa: BLE001 - thrown once every branch has ended
            outcomes.append(error)
    return _settled(outcomes)


def _begun(effect: Recorded | Scope, journal: Journal, path: str) -> bool:
    """Whether another step of the graph has done it, or a part of it."""
    if isinstance(effect, Recorded):
        return journal.answer(path, effect) is not None
    return not effect.stage or journal.holds(path)


def _settled(outcomes: list[object]) -> list[Any]:
    failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    for failure in failures:
        if not isinstance(failure, Exception) or isinstance(failure, (GraphBubbleUp, JournalError)):
            raise failure
    if failures:
        raise failures[0]
    return outcomes
