"""Guardrails: each judges the output, and a refusal sends the agent back with the reason.

Guardrails described in words are judged by a model, which replies with a verdict as JSON.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, Self, TypeVar

from pydantic import BaseModel

from crewgraph.compiler.task.structure import request_structured
from crewgraph.core.effects import Body, Call, EffectFailed, Notify
from crewgraph.core.messages import Message
from crewgraph.core.protocols import Model
from crewgraph.definitions.task.guardrail import (
    NO_REASON,
    GuardrailResult,
    ModelGuardrail,
    model_guardrail,
)
from crewgraph.definitions.task.output import dump_model, load_model, model_named, name_model
from crewgraph.errors import GuardrailFailed, OutputInvalid
from crewgraph.llm.usage import UsageLedger
from crewgraph.prompts.i18n import Book
from crewgraph.text import shorten

Verdict = dict[str, Any]
"""A verdict as plain data: accepted, text, output, error."""


class Judgeable(Protocol):
    """An output that guardrails judge: of a task, or of an agent's kickoff."""

    raw: str

    @property
    def is_structured(self) -> bool:
        """Whether there is a structured form."""
        ...

    def to_plain(self) -> dict[str, object]:
        """Return the output as plain data."""
        ...

    @classmethod
    def from_plain(cls, data: Mapping[str, object], model: type[BaseModel] | None = None) -> Self:
        """Return the output that `to_plain` encoded."""
        ...


Out = TypeVar("Out", bound=Judgeable)


@dataclass(frozen=True, kw_only=True)
class Guards:
    """The guardrails of a task, or of an agent on its own."""

    guardrails: Sequence[object]
    retries: int
    """How often the refusals of each guardrail send the agent back."""

    where: str
    """Whose guardrails these are, for messages."""

    structure: type[BaseModel] | None = None
    """The pydantic model of the output."""

    takes_models: bool = False
    """Whether a guardrail may return an instance of any pydantic model as the structure, not only of `structure`."""


class Attempt(Protocol[Out]):
    """Repeats the work after a refusal, and applies the replacements of guardrails."""

    def retry(self, refused: Out, reason: str) -> Body[tuple[Out, str | None]]:
        """Return a new output, and why it has no structure if one was asked for."""
        ...

    def judge(self, guardrail: ModelGuardrail, output: Out) -> Body[Verdict]:
        """Return the verdict of a model."""
        ...

    def replace_text(self, output: Out, text: str) -> Body[tuple[Out, str | None]]:
        """Return the output with another text, and why that has no structure if one was asked for."""
        ...

    def replace_structure(self, output: Out, instance: BaseModel) -> Out:
        """Return the output with a guardrail's structure in place of its own."""
        ...

    def demand_structure(self, output: Out) -> Body[tuple[Out, str | None]]:
        """Have the text converted by a model or a converter; return why that failed, too."""
        ...


class GuardrailObserver(Protocol):
    """Is notified of verdicts."""

    def judging(self, guardrail: object, retries: int) -> None:
        """A guardrail is about to judge."""
        ...

    def judged(self, verdict: Verdict, retries: int) -> None:
        """A guardrail has judged."""
        ...

    def guardrail_failed(self, error: str, retries: int) -> None:
        """A guardrail could not judge."""
        ...


def apply_guardrails(
    guards: Guards, output: Out, problem: str | None, attempt: Attempt[Out], observer: GuardrailObserver
) -> Body[tuple[Out, str | None]]:
    """Return the output that every guardrail accepts, and why it has no structure if one was asked for.

    A structure that the text does not hold is demanded when all have accepted it, since a guardrail may make one; before,
    only where a guardrail cannot judge without it. A text that gets none is a refused attempt.

    Raises:
        GuardrailFailed: a guardrail refused every attempt.
    """
    last = len(guards.guardrails) - 1
    for number, guardrail in enumerate(guards.guardrails):
        retries = 0
        while True:
            yield Notify(partial(observer.judging, guardrail, retries))
            try:
                verdict, output, problem = yield from _judge_with_structure(
                    guards, number, retries, output, problem, attempt
                )
            except EffectFailed as failure:  # not an effect, so that a resumed run judges again
                observer.guardrail_failed(str(failure), retries)
                raise
            yield Notify(partial(observer.judged, verdict, retries))
            if verdict["accepted"]:
                output, problem = yield from _apply_verdict(verdict, guards, output, problem, attempt)
                if (
                    problem is not None and number == last and output.raw.strip()
                ):  # from nothing a model would invent one
                    output, problem = yield from attempt.demand_structure(output)
                if problem is None or number < last or verdict["text"] is not None:
                    break  # where the text is the guardrail's, the agent is not to blame for it
                verdict = {"accepted": False, "error": f"it does not fit the structure asked for: {problem}"}
                yield Notify(partial(observer.judged, verdict, retries))
            reason = str(verdict["error"])
            if retries >= guards.retries:
                raise GuardrailFailed(_exhausted(guards, guardrail, number, reason))
            retries += 1
            output, problem = yield from attempt.retry(output, reason)
    return output, problem


def _judge_with_structure(
    guards: Guards, number: int, retries: int, output: Out, problem: str | None, attempt: Attempt[Out]
) -> Body[tuple[Verdict, Out, str | None]]:
    """Judge an output; a guardrail that fails without the structure gets it."""
    try:
        return (yield from _judge(guards, number, retries, output, attempt)), output, problem
    except EffectFailed:
        if problem is None or model_guardrail(guards.guardrails[number]) is not None:
            raise
        output, problem = yield from attempt.demand_structure(output)
        if problem is not None:
            raise
    return (yield from _judge(guards, number, retries, output, attempt)), output, None


def _apply_verdict(
    verdict: Verdict, guards: Guards, output: Out, problem: str | None, attempt: Attempt[Out]
) -> Body[tuple[Out, str | None]]:
    if verdict["output"] is not None:
        replaced = type(output).from_plain(verdict["output"], guards.structure)
        return replaced, None if replaced.is_structured else problem
    if (structure := verdict.get("structure")) is not None:
        model = model_named(structure["class"]) or guards.structure
        if (instance := load_model(structure["fields"], model)) is not None:
            return attempt.replace_structure(output, instance), None
    if verdict["text"] is not None and verdict["text"] != output.raw:
        return (yield from attempt.replace_text(output, verdict["text"]))
    return output, problem


def _judge(guards: Guards, number: int, retries: int, output: Out, attempt: Attempt[Out]) -> Body[Verdict]:
    guardrail: Any = guards.guardrails[number]
    judge = model_guardrail(guardrail)
    if judge is not None:
        return (yield from attempt.judge(judge, output))
    name = _guardrail_name(guardrail)
    return (
        yield Call(
            function=guardrail,
            args=(output,),
            name=name,
            kind="guardrail",
            about=[number, retries, output.to_plain()],
            span=f"Guardrail: {name}",
            trace_input={"output": output.raw},
            encode=partial(_encode_verdict, kind=type(output), guards=guards, name=name),
        )
    )


def _encode_verdict(returned: object, *, kind: type[Judgeable], guards: Guards, name: str) -> Verdict:
    try:
        result = GuardrailResult.from_tuple(returned)
    except (TypeError, ValueError) as error:
        raise TypeError(f"guardrail `{name}` of {guards.where}: {error}") from error
    replacement = result.result
    verdict: Verdict = {
        "accepted": result.success,
        "error": result.error or (None if result.success else NO_REASON),
        "output": replacement.to_plain() if isinstance(replacement, kind) else None,
        "text": replacement if isinstance(replacement, str) else None,
    }
    if isinstance(replacement, BaseModel) and _is_structure(replacement, kind, guards):
        verdict["structure"] = {"class": name_model(type(replacement)), "fields": dump_model(replacement)}
    return verdict


def _is_structure(replacement: BaseModel, kind: type[Judgeable], guards: Guards) -> bool:
    if guards.takes_models:
        return not isinstance(replacement, kind)
    return guards.structure is not None and isinstance(replacement, guards.structure)


def _guardrail_name(guardrail: object) -> str:
    judge = model_guardrail(guardrail)
    if judge is not None:
        return shorten(judge.description, 60)
    return getattr(guardrail, "__name__", type(guardrail).__name__)


def _exhausted(guards: Guards, guardrail: object, number: int, reason: str) -> str:
    is_of_task = guards.where.startswith("task ")
    which = f" {number}" if is_of_task and len(guards.guardrails) > 1 else ""
    subject, place = ("Task", f"In {guards.where}, the") if is_of_task else (guards.where, "The")
    return (
        f"{subject} failed guardrail{which} validation after {guards.retries} retries. Last error: {reason}. "
        f"{place} guardrail{which} (`{_guardrail_name(guardrail)}`) refused every attempt: check what it requires, or raise "
        "`guardrail_max_retries`."
    )


_ATTEMPTS = 2


def judge_output(
    guardrail: ModelGuardrail, output: str, task: str, context: str, model: Model, book: Book, usage: UsageLedger
) -> Body[Verdict]:
    """Let a model judge an output.

    Args:
        guardrail: the guardrail.
        output: the text to judge.
        task: the description of the task.
        context: the context the output was written with, where the guardrail names none.
        model: the judge.
        book: the prompts.
        usage: counts the requests.

    Raises:
        OutputInvalid: the model's verdict cannot be parsed.
    """
    system, question = guardrail.messages(book, output, task, context)
    messages: list[Message] = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    reply = yield from request_structured(
        messages, guardrail.verdict, model, book, usage, attempts=_ATTEMPTS, stage="guardrail"
    )
    if reply.value is None:
        raise OutputInvalid(
            f"the guardrail `{shorten(guardrail.description, 60)}` got no verdict from the model `{model.name}`, even after "
            f"a retry: {reply.problem}. Its last reply: {shorten(reply.text, 200)!r}. Use a model that writes JSON as the judge: "
            f"`{type(guardrail).__name__}(..., llm=...)`."
        )
    reason = guardrail.refusal(reply.value)
    accepted = reason is None
    return {"accepted": accepted, "error": reason, "output": None, "text": output if accepted else None}
