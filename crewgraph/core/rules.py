"""The rules of performing and recording effects: one generator of operations for every body, sync and async."""

from collections.abc import Callable
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import set_config_context
from langgraph.errors import GraphBubbleUp
from langgraph.types import interrupt

from crewgraph.core.effects import (
    Ask,
    Body,
    Effect,
    EffectFailed,
    Notify,
    OutcomeUnknown,
    Recorded,
    Scope,
    Together,
)
from crewgraph.core.journal import Journal, JournalError, Record
from crewgraph.core.operations import Parallel, Perform, Program, Spanned
from crewgraph.core.pregel import answers_waiting, counted, inside_effect
from crewgraph.core.watched import is_watched

__all__ = ["performed", "whole"]

T = TypeVar("T")


def whole(body: Body[T], journal: Journal, config: RunnableConfig) -> Program[T]:
    """A body from its first effect to its result, answered from the journal where it ran before."""
    yield from journal.load()
    try:
        return (yield from _played(body, journal, config, ""))
    except BaseException:
        yield from journal.keep()
        raise


def _played(body: Body[T], journal: Journal, config: RunnableConfig, path: str) -> Program[T]:
    send: Callable[[Any], Effect] = body.send
    value: Any = None
    position = 0
    failed: tuple[str, Recorded, Record] | None = None
    try:
        while True:
            effect = send(value)
            if isinstance(effect, Notify):
                value, send = effect.tell(), body.send
                continue
            if failed:  # the body went on, with more than telling: the failure is a part of its story
                yield from journal.write(*failed)
                failed = None
            here = f"{path}{position}"
            position += 1
            try:
                value, send = (yield from performed(effect, journal, config, here)), body.send
            except (GraphBubbleUp, JournalError):
                raise
            except Exception as error:  # noqa: BLE001 - thrown into the body as what it may see
                seen = _seen(error)
                value, send = seen, body.throw
                if isinstance(effect, Recorded):
                    failed = (here, effect, {"error": [seen.type_name, seen.text]})
    except StopIteration as stop:
        return stop.value
    except EffectFailed as failure:
        # The body let it pass: the caller gets the original, whose type says whether a retry makes sense.
        if failure.__cause__ is not None and not isinstance(failure, OutcomeUnknown):
            raise failure.__cause__ from failure.__cause__.__cause__
        raise
    finally:
        body.close()


def _seen(error: Exception) -> EffectFailed:
    if isinstance(error, EffectFailed):
        return error
    seen = EffectFailed(type(error).__name__, str(error))
    seen.__cause__ = error
    return seen


def performed(effect: Effect, journal: Journal, config: RunnableConfig, here: str) -> Program[Any]:
    """One effect at the path `here`: answered, or performed and recorded."""
    if isinstance(effect, Recorded):
        return (yield from _recorded(effect, journal, config, here))
    if isinstance(effect, Scope):
        return (yield from _scoped(effect, journal, config, here))
    if isinstance(effect, Together):
        return (yield from _together(effect, journal, config, here))
    if isinstance(effect, Ask):
        with set_config_context(config) as context:
            return context.run(interrupt, effect.question)
    if isinstance(effect, Notify):
        return effect.tell()
    raise TypeError(f"a body yielded `{type(effect).__name__}`, which is no effect")


def _recorded(effect: Recorded, journal: Journal, config: RunnableConfig, here: str) -> Program[Any]:
    record = journal.answer(here, effect)
    if record is not None:
        counted(config, record)
        if "error" in record:
            raise EffectFailed(*record["error"])
        return record["value"]
    if effect.once:
        if journal.was_started(here, effect):
            raise OutcomeUnknown(
                "OutcomeUnknown", f"{effect.label} was started before a crash, and nobody knows whether it ended"
            )
        yield from journal.start(here, effect)
    if not effect.asks:
        value = yield Perform(effect, config)
        yield from journal.write(here, effect, {"value": value})
        return value
    own, used = inside_effect(config, here)
    value = yield Perform(effect, own)
    yield from journal.write(here, effect, {"value": value, **used()})
    return value


def _scoped(scope: Scope, journal: Journal, config: RunnableConfig, here: str) -> Program[Any]:
    if not is_watched(config):  # nobody would see the span
        return (yield from _played(scope.body(), journal, config, f"{here}."))
    return (yield Spanned(scope, config, lambda own: _played(scope.body(), journal, own, f"{here}.")))


def _together(effect: Together, journal: Journal, config: RunnableConfig, here: str) -> Program[list[Any]]:
    branches = [performed(one, journal, config, f"{here}.{n}") for n, one in enumerate(effect.effects)]
    if len(branches) > 1 and not answers_waiting(config):
        return _settled((yield Parallel(branches)))
    outcomes: list[Any] = []
    for branch in branches:
        try:
            outcomes.append((yield from branch))
        except (GraphBubbleUp, JournalError):
            raise  # the next question waits for this answer
        except Exception as error:  # noqa: BLE001 - thrown once every branch has ended
            outcomes.append(error)
    return _settled(outcomes)


def _settled(outcomes: list[Any]) -> list[Any]:
    failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    for failure in failures:
        if not isinstance(failure, Exception) or isinstance(failure, (GraphBubbleUp, JournalError)):
            raise failure
    if failures:
        raise failures[0]
    return outcomes
