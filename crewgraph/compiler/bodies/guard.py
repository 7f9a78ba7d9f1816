"""Guardrails: each judges the output; a refusal sends the agent back with the reason."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, Self, TypeVar

from pydantic import BaseModel

from crewgraph.core.effects import Body, Call, EffectFailed, Notify
from crewgraph.definitions.guardrail import GuardrailResult
from crewgraph.definitions.model_guardrail import ModelGuardrail, model_guardrail
from crewgraph.errors import GuardrailFailed
from crewgraph.text import shorten

__all__ = ["Attempt", "Audience", "Guards", "Judgeable", "Judged", "guarded"]

Judged = dict[str, Any]
"""A verdict as plain data: accepted, text, output, error."""


class Judgeable(Protocol):
    """What guardrails judge: the output of a task, or of an agent's kickoff."""

    raw: str

    def to_plain(self) -> dict[str, Any]:
        """As plain data."""
        ...

    @classmethod
    def from_plain(cls, data: Mapping[str, Any], model: type[BaseModel] | None = None) -> Self:
        """The output that `to_plain` described."""
        ...


Out = TypeVar("Out", bound=Judgeable)


@dataclass(frozen=True, kw_only=True)
class Guards:
    """The guardrails of a task, or of an agent on its own."""

    guardrails: Sequence[Any]
    retries: int
    """How often each one's refusal sends the agent back."""

    where: str
    """Whose they are, for messages."""

    structure: type[BaseModel] | None = None
    """What the output's `pydantic` is an instance of."""


class Attempt(Protocol[Out]):
    """Does the work once more, or reads a text that replaces its output."""

    def again(self, refused: Out, reason: str) -> Body[tuple[Out, str | None]]:
        """A new output, and why it has no structure, where one was asked for and could not be made."""
        ...

    def judged(self, guardrail: ModelGuardrail, output: Out) -> Body[Judged]:
        """The verdict of a model."""
        ...

    def replaced(self, output: Out, text: str) -> Body[tuple[Out, str | None]]:
        """The output with another text, its structure made anew."""
        ...


class Audience(Protocol):
    """Who is told of verdicts."""

    def judging(self, guardrail: Any, retries: int) -> None:
        """A guardrail is about to judge."""
        ...

    def judged(self, verdict: Judged, retries: int) -> None:
        """It has judged."""
        ...

    def guardrail_failed(self, error: str, retries: int) -> None:
        """It could not judge."""
        ...


def guarded(
    guards: Guards, output: Out, problem: str | None, attempt: Attempt[Out], audience: Audience
) -> Body[tuple[Out, str | None]]:
    """The output that every guardrail accepts, and why it has no structure, if it was to have one.

    Raises:
        GuardrailFailed: a guardrail refused every attempt.
    """
    for number, guardrail in enumerate(guards.guardrails):
        retries = 0
        while True:
            verdict: Judged = {"accepted": False, "error": f"it does not fit the structure asked for: {problem}"}
            if problem is None:
                yield Notify(partial(audience.judging, guardrail, retries))
                try:
                    verdict = yield from _judgement(guards, number, retries, output, attempt)
                except EffectFailed as failure:  # told without an effect, so that a resumed run asks again
                    audience.guardrail_failed(str(failure), retries)
                    raise
            yield Notify(partial(audience.judged, verdict, retries))
            if verdict["accepted"]:
                output, problem = yield from _accepted(verdict, guards, output, attempt)
                break
            if retries >= guards.retries:
                raise GuardrailFailed(_exhausted(guards, guardrail, number, verdict["error"]))
            retries += 1
            output, problem = yield from attempt.again(output, verdict["error"])
    return output, problem


def _accepted(verdict: Judged, guards: Guards, output: Out, attempt: Attempt[Out]) -> Body[tuple[Out, str | None]]:
    if verdict["output"] is not None:
        return type(output).from_plain(verdict["output"], guards.structure), None
    if verdict["text"] is not None and verdict["text"] != output.raw:
        return (yield from attempt.replaced(output, verdict["text"]))
    return output, None


def _judgement(guards: Guards, number: int, retries: int, output: Out, attempt: Attempt[Out]) -> Body[Judged]:
    guardrail: Any = guards.guardrails[number]
    judge = model_guardrail(guardrail)
    if judge is not None:
        return (yield from attempt.judged(judge, output))
    name = _name_of(guardrail)
    return (
        yield Call(
            function=guardrail,
            args=(output,),
            name=name,
            kind="guardrail",
            about=[number, retries, output.to_plain()],
            span=f"Guardrail: {name}",
            given={"output": output.raw},
            encode=partial(_read, kind=type(output), where=f"guardrail `{name}` of {guards.where}"),
        )
    )


def _read(returned: Any, *, kind: type[Judgeable], where: str) -> Judged:
    try:
        result = GuardrailResult.from_tuple(returned)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{where}: {error}") from error
    replacement = result.result
    return {
        "accepted": result.success,
        "error": result.error,
        "output": replacement.to_plain() if isinstance(replacement, kind) else None,
        "text": replacement if isinstance(replacement, str) else None,
    }


def _name_of(guardrail: Any) -> str:
    judge = model_guardrail(guardrail)
    if judge is not None:
        return shorten(judge.description, 60)
    return getattr(guardrail, "__name__", type(guardrail).__name__)


def _exhausted(guards: Guards, guardrail: Any, number: int, reason: str) -> str:
    which = (
        f"guardrail {number} (`{_name_of(guardrail)}`)"
        if len(guards.guardrails) > 1
        else f"guardrail (`{_name_of(guardrail)}`)"
    )
    return (
        f"{guards.where} failed guardrail validation after {guards.retries} retries. Last error: {reason}. "
        f"The {which} refused every attempt: look at what it asks for, or raise `guardrail_max_retries`."
    )
