"""Guardrails: each judges the output; a refusal sends the agent back with the reason."""

from functools import partial
from typing import Any, Protocol

from crewgraph.core.effects import Body, Call, EffectFailed, Notify
from crewgraph.definitions.faults import title
from crewgraph.definitions.guardrail import GuardrailResult
from crewgraph.definitions.model_guardrail import ModelGuardrail, model_guardrail
from crewgraph.definitions.output import TaskOutput
from crewgraph.definitions.task import Task
from crewgraph.errors import GuardrailFailed
from crewgraph.text import shorten

__all__ = ["Attempt", "Audience", "Judged", "guarded"]

Judged = dict[str, Any]
"""A verdict as plain data: accepted, text, output, error."""


class Attempt(Protocol):
    """Does the task once more, or reads a text that replaces its output."""

    def again(self, refused: TaskOutput, reason: str) -> Body[tuple[TaskOutput, str | None]]:
        """A new output, and why it has no structure, where one was asked for and could not be made."""
        ...

    def judged(self, guardrail: ModelGuardrail, output: TaskOutput) -> Body[Judged]:
        """The verdict of a model."""
        ...

    def replaced(self, output: TaskOutput, text: str) -> Body[tuple[TaskOutput, str | None]]:
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
    task: Task, output: TaskOutput, problem: str | None, attempt: Attempt, audience: Audience
) -> Body[tuple[TaskOutput, str | None]]:
    """The output that every guardrail of the task accepts, and why it has no structure, if it was to have one.

    Raises:
        GuardrailFailed: a guardrail refused every attempt.
    """
    for number, guardrail in enumerate(task.all_guardrails):
        retries = 0
        while True:
            verdict: Judged = {"accepted": False, "error": f"it does not fit the structure asked for: {problem}"}
            if problem is None:
                yield Notify(partial(audience.judging, guardrail, retries))
                try:
                    verdict = yield from _judgement(task, number, retries, output, attempt)
                except EffectFailed as failure:  # told without an effect, so that a resumed run asks again
                    audience.guardrail_failed(str(failure), retries)
                    raise
            yield Notify(partial(audience.judged, verdict, retries))
            if verdict["accepted"]:
                output, problem = yield from _accepted(verdict, task, output, attempt)
                break
            if retries >= task.guardrail_max_retries:
                raise GuardrailFailed(_exhausted(task, guardrail, number, verdict["error"]))
            retries += 1
            output, problem = yield from attempt.again(output, verdict["error"])
    return output, problem


def _accepted(verdict: Judged, task: Task, output: TaskOutput, attempt: Attempt) -> Body[tuple[TaskOutput, str | None]]:
    if verdict["output"] is not None:
        return TaskOutput.from_plain(verdict["output"], task.output_pydantic), None
    if verdict["text"] is not None and verdict["text"] != output.raw:
        return (yield from attempt.replaced(output, verdict["text"]))
    return output, None


def _judgement(task: Task, number: int, retries: int, output: TaskOutput, attempt: Attempt) -> Body[Judged]:
    guardrail: Any = task.all_guardrails[number]
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
            encode=partial(_read, where=f"guardrail `{name}` of {title(task)}"),
        )
    )


def _read(returned: Any, *, where: str) -> Judged:
    try:
        result = GuardrailResult.from_tuple(returned)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{where}: {error}") from error
    replacement = result.result
    return {
        "accepted": result.success,
        "error": result.error,
        "output": replacement.to_plain() if isinstance(replacement, TaskOutput) else None,
        "text": replacement if isinstance(replacement, str) else None,
    }


def _name_of(guardrail: Any) -> str:
    judge = model_guardrail(guardrail)
    if judge is not None:
        return shorten(judge.description, 60)
    return getattr(guardrail, "__name__", type(guardrail).__name__)


def _exhausted(task: Task, guardrail: Any, number: int, reason: str) -> str:
    which = (
        f"guardrail {number} (`{_name_of(guardrail)}`)"
        if len(task.all_guardrails) > 1
        else f"guardrail (`{_name_of(guardrail)}`)"
    )
    return (
        f"{title(task)} failed guardrail validation after {task.guardrail_max_retries} retries. Last error: {reason}. "
        f"The {which} refused every attempt: look at what it asks for, or raise `guardrail_max_retries`."
    )
