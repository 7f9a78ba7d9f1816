"""Guardrails: each judges the output; a refusal sends the agent back with the reason.

A model judges an output: asked for a verdict as JSON, once more where it cannot be read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, Self, TypeVar

from pydantic import BaseModel

from crewgraph.compiler.task.structured_answer import request_structured
from crewgraph.core.effects import Body, Call, EffectFailed, Notify
from crewgraph.core.messages import Message
from crewgraph.core.protocols import Model
from crewgraph.definitions.task.guardrail import (
    Faithfulness,
    GuardrailResult,
    HallucinationGuardrail,
    LLMGuardrailResult,
    ModelGuardrail,
    model_guardrail,
)
from crewgraph.errors import GuardrailFailed, OutputInvalid
from crewgraph.llm.usage import UsageLedger
from crewgraph.prompts.book import Book
from crewgraph.schema import described
from crewgraph.text import shorten

__all__ = ["Attempt", "GuardrailObserver", "Guards", "Judgeable", "Judged", "apply_guardrails", "judge_output"]


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


class GuardrailObserver(Protocol):
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


def apply_guardrails(
    guards: Guards, output: Out, problem: str | None, attempt: Attempt[Out], audience: GuardrailObserver
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


_M = TypeVar("_M", bound=BaseModel)
_ATTEMPTS = 2


def judge_output(
    guardrail: ModelGuardrail, output: str, task: str, context: str, model: Model, book: Book, usage: UsageLedger
) -> Body[Judged]:
    """The verdict of a model about an output.

    Args:
        guardrail: what it is asked.
        output: the text that is judged.
        task: what was to be done.
        context: what was known to whoever wrote it, where the guardrail does not say.
        model: who judges.
        book: the wording.
        usage: where requests are counted.

    Raises:
        OutputInvalid: the model gave no verdict that can be read.
    """
    if isinstance(guardrail, HallucinationGuardrail):
        reason = yield from _unfaithful(guardrail, output, context, model, book, usage)
    else:
        reason = yield from _against(guardrail, output, task, model, book, usage)
    return {
        "accepted": reason is None,
        "error": reason,
        "output": None,
        "text": output if reason is None else None,
    }


def _against(
    guardrail: ModelGuardrail, output: str, task: str, model: Model, book: Book, usage: UsageLedger
) -> Body[str | None]:
    """Why an output does not keep to a rule; None where it does."""
    schema = described(LLMGuardrailResult)
    messages: list[Message] = [
        {"role": "system", "content": book.slice("guardrail_system", rule=guardrail.description, schema=schema)},
        {"role": "user", "content": book.slice("guardrail_text", task=task, output=output)},
    ]
    said = yield from _asked(messages, LLMGuardrailResult, guardrail, model, book, usage)
    return None if said.valid else said.feedback or "refused without a reason"


def _unfaithful(
    guardrail: HallucinationGuardrail, output: str, context: str, model: Model, book: Book, usage: UsageLedger
) -> Body[str | None]:
    """What an output says without grounds; None where the context backs it."""
    known = [guardrail.context if guardrail.context is not None else context, guardrail.tool_response]
    grounds = "\n\n".join(one for one in known if one)
    messages: list[Message] = [
        {"role": "system", "content": book.slice("faithfulness_system", schema=described(Faithfulness))},
        {"role": "user", "content": book.slice("faithfulness_text", context=grounds, output=output)},
    ]
    said = yield from _asked(messages, Faithfulness, guardrail, model, book, usage)
    threshold = guardrail.threshold
    if said.verdict == "FAITHFUL" if threshold is None else said.score >= threshold:
        return None
    wanted = "" if threshold is None else f", at least {threshold:g} are asked for"
    return f"{said.verdict}, {said.score:g} of 10{wanted}: {said.reasons or 'no reasons were given'}"


def _asked(
    messages: list[Message],
    schema: type[_M],
    guardrail: ModelGuardrail,
    model: Model,
    book: Book,
    usage: UsageLedger,
) -> Body[_M]:
    asked = yield from request_structured(messages, schema, model, book, usage, attempts=_ATTEMPTS, stage="guardrail")
    if asked.found is not None:
        return asked.found
    raise OutputInvalid(
        f"the guardrail `{shorten(guardrail.description, 60)}` got no verdict from the model `{model.name}`, also when it was "
        f"asked again: {asked.problem}. Its last reply: {shorten(asked.text, 200)!r}. Give the judging to a model that writes "
        f"JSON: `{type(guardrail).__name__}(..., llm=...)`."
    )
