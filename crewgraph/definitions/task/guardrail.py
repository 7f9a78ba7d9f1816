"""Guardrails, which accept or reject a task's output: functions, and rules that a language model checks."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, Self, get_args, get_origin

from pydantic import BaseModel, Field, TypeAdapter, field_validator, model_validator

from crewgraph.annotations import is_unresolved, signature_of
from crewgraph.definitions.task.output import TaskOutput
from crewgraph.overrides import override_of
from crewgraph.prompts.i18n import Book
from crewgraph.redaction import redact_text
from crewgraph.schema import is_list, is_sequence, model_outline
from crewgraph.text import shorten

Guardrail = Callable[[TaskOutput], Any] | str
"""A function of the output that returns `(accepted, result or reason)`, or a rule as text for a model to check."""


Guardrails = Sequence[Guardrail] | Guardrail
"""A guardrail, or several in order."""


NO_REASON = "refused without a reason"
"""The reason of a rejection for which a guardrail gave none."""


class GuardrailResult(BaseModel, defer_build=True):
    """The result of a guardrail."""

    success: bool
    """Whether the output was accepted."""

    result: Any | None = None
    """The replacement for an accepted output, a string or a `TaskOutput`; None keeps the output. Not used if the
    output is rejected."""

    error: str | None = None
    """The reason of a rejection, which is passed to the agent. Not used if the output is accepted."""

    @model_validator(mode="after")
    def _check_consistent(self) -> Self:
        if not self.success and self.result and self.error:
            raise ValueError("a rejected output has no result; set the reason as `error` alone")
        return self

    @classmethod
    def from_tuple(cls, result: Any) -> Self:
        """Read what a guardrail function returned.

        Raises:
            TypeError: If it is not a pair whose first item is a bool, or what pydantic takes for one: NumPy's, 1 or 0,
                "yes" or "no".
        """
        if isinstance(result, cls):
            return result
        pair = [*result] if is_sequence(result) else []
        try:
            given, data = pair
            accepted = given if isinstance(given, bool) else TypeAdapter(bool).validate_python(given)
        except ValueError:
            raise TypeError(
                f"a guardrail returns `(True, result)` or `(False, reason)`, but this one returned {_describe(result)}"
            ) from None
        if accepted:
            return cls(success=True, result=data)
        return cls(success=False, error=str(data) if data else NO_REASON)


def _describe(value: Any) -> str:
    text = repr(value)
    return f"{text[:80]}... ({type(value).__name__})" if len(text) > 80 else f"{text} ({type(value).__name__})"


def validate_guardrail(value: Any) -> Any:
    """Return a guardrail if its signature is valid.

    Raises:
        ValueError: If it is neither a function nor text, does not take exactly one argument, or is annotated to return
            anything but a pair whose first item is a bool.
    """
    if value is None or isinstance(value, str):
        return value
    if not callable(value):
        raise ValueError(f"a guardrail is a function of the task's output or a text, not {_describe(value)}")
    try:
        signature = signature_of(value)
    except (TypeError, ValueError):  # builtins have none
        return value
    required = [
        p
        for p in signature.parameters.values()
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    accepts_any = any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values())
    positional = [p for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(required) > 1 or not (positional or accepts_any):
        raise ValueError(f"a guardrail takes one argument, the task's output; `{_name(value)}` takes {len(required)}")
    declared = signature.return_annotation
    if declared is not signature.empty and not is_unresolved(declared) and not _is_result_pair(declared):
        raise ValueError(
            f"a guardrail returns `tuple[bool, Any]`; `{_name(value)}` declares to return `{inspect.formatannotation(declared)}`"
        )
    return value


def _is_result_pair(declared: object) -> bool:
    if declared is tuple or declared is Any or declared is GuardrailResult:
        return True
    parts = get_args(declared)
    return get_origin(declared) is tuple and len(parts) == 2 and parts[0] is bool


def _name(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)


class LLMGuardrailResult(BaseModel, defer_build=True):
    """What a model says about an output and a rule."""

    valid: bool = Field(description="whether the text complies with the rule")
    """Whether the output keeps to the rule."""

    feedback: str | None = Field(default=None, description="if not: what is wrong and what to change")
    """What is wrong with it."""

    @field_validator("feedback", mode="before")
    @classmethod
    def _join_list(cls, value: Any) -> object:
        return _join_sentences(value)


class Faithfulness(BaseModel, defer_build=True):
    """What a model says about an output and the context it has to be true to."""

    score: float = Field(ge=0, le=10, description="10: the context supports every statement; 0: it supports none")
    """How much of it the context backs, from 0 to 10."""

    verdict: Literal["FAITHFUL", "HALLUCINATED"] = Field(
        description="HALLUCINATED if any statement is made up or wrong"
    )
    """Whether all of it is backed."""

    reasons: str = Field(default="", description="each statement that the context does not support, and why")
    """What is not, and why."""

    @field_validator("score", mode="before")
    @classmethod
    def _parse_score(cls, value: Any) -> object:
        return value.partition("/")[0] if isinstance(value, str) else value

    @field_validator("verdict", mode="before")
    @classmethod
    def _normalize_verdict(cls, value: Any) -> object:
        return value.strip().upper() if isinstance(value, str) else value

    @field_validator("reasons", mode="before")
    @classmethod
    def _join_list(cls, value: Any) -> object:
        return _join_sentences(value) or ""


def _join_sentences(value: Any) -> object:
    """Join a list of sentences."""
    return "; ".join(map(str, value)) if is_list(value) else value


class ModelGuardrail:
    """A rule that a model checks; a subclass with a `__call__` of its own checks in its own way."""

    llm: Any
    """The model that checks, as for agents; in a task, None is the model of its agent."""

    description: str
    """The rule."""

    kind: ClassVar[str]
    """What events call it."""

    verdict: ClassVar[type[BaseModel]]
    """What the model says."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({shorten(redact_text(self.description), 60)!r})"

    def messages(self, book: Book, output: str, task: str, context: str) -> tuple[str, str]:
        """Return the system prompt and the question for the model.

        Args:
            book: The prompts.
            output: The text to check.
            task: The description of the task.
            context: The context that the output was written with.
        """
        raise NotImplementedError

    def refusal(self, verdict: Any) -> str | None:
        """Return why a verdict refuses the output; None if it accepts it."""
        raise NotImplementedError

    def check_alone(self) -> None:
        """Check that it can judge an output outside of a task.

        Raises:
            ValueError: It needs something that only tasks have.
        """


class LLMGuardrailDefinition(ModelGuardrail):
    """Checks with a model whether an output follows a rule."""

    public_class: ClassVar[type["LLMGuardrailDefinition"]]
    """The class that programs use, which can be called; set by `crewgraph.task`."""

    kind, verdict = "llm", LLMGuardrailResult

    def __init__(self, description: str, llm: object = None) -> None:
        """Create the guardrail.

        Args:
            description: The rule, in plain words.
            llm: The model that checks; in a task, None is the model of its agent.
        """
        self.description, self.llm = description, llm

    def messages(self, book: Book, output: str, task: str, context: str) -> tuple[str, str]:
        schema = model_outline(self.verdict)
        system = book.slice("guardrail_system", rule=self.description, schema=schema)
        return system, book.slice("guardrail_text", task=task, output=output)

    def refusal(self, verdict: LLMGuardrailResult) -> str | None:
        return None if verdict.valid else verdict.feedback or NO_REASON


class HallucinationGuardrailDefinition(ModelGuardrail):
    """Checks with a model whether its context supports everything that an output says."""

    description = "the output says nothing that its context does not back"

    context: str | None
    """The known facts; in a task, None is the task's context."""

    threshold: float | None
    """Minimum score to accept an output, 0 to 10; None accepts the verdict FAITHFUL."""

    tool_response: str
    """Results of tools, which also count as known facts."""

    kind, verdict = "hallucination", Faithfulness

    def __init__(
        self, context: str | None = None, llm: object = None, threshold: float | None = None, tool_response: str = ""
    ) -> None:
        """Create the guardrail.

        Raises:
            ValueError: If the threshold is not between 0 and 10.
        """
        if threshold is not None and not 0 <= threshold <= 10:
            raise ValueError(f"the threshold of a HallucinationGuardrail is a score from 0 to 10, not {threshold!r}")
        self.context, self.llm, self.threshold, self.tool_response = context, llm, threshold, tool_response

    def messages(self, book: Book, output: str, task: str, context: str) -> tuple[str, str]:
        parts = [context if self.context is None else self.context, self.tool_response]
        grounds = "\n\n".join(part for part in parts if part)
        system = book.slice("faithfulness_system", schema=model_outline(self.verdict))
        return system, book.slice("faithfulness_text", context=grounds, output=output)

    def refusal(self, verdict: Faithfulness) -> str | None:
        threshold = self.threshold
        if verdict.verdict == "FAITHFUL" if threshold is None else verdict.score >= threshold:
            return None
        required = "" if threshold is None else f", at least {threshold:g} are asked for"
        return f"{verdict.verdict}, {verdict.score:g} of 10{required}: {verdict.reasons or 'no reasons were given'}"

    def check_alone(self) -> None:
        if self.context is None:
            raise ValueError(
                "a HallucinationGuardrail called outside of a task needs `context=`, the reference to check the output against"
            )


def model_guardrail(guardrail: object) -> ModelGuardrail | None:
    """Return the guardrail as a `ModelGuardrail`; None for functions and for subclasses that override `__call__`."""
    if isinstance(guardrail, str):
        return LLMGuardrailDefinition.public_class(guardrail)
    if isinstance(guardrail, ModelGuardrail) and override_of(guardrail, "__call__") is None:
        return guardrail
    return None
