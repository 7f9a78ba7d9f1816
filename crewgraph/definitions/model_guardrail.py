"""Guardrails that a language model carries out."""

from typing import Any, Literal

from pydantic import BaseModel, Field, field_validator

from crewgraph.definitions.guardrail_verbs import GuardrailVerbs
from crewgraph.overrides import override_of
from crewgraph.text import shorten

__all__ = [
    "Faithfulness",
    "HallucinationGuardrail",
    "LLMGuardrail",
    "LLMGuardrailResult",
    "ModelGuardrail",
    "model_guardrail",
]


class LLMGuardrailResult(BaseModel):
    """What a model says about an output and a rule."""

    valid: bool = Field(description="whether the text keeps to the rule")
    """Whether the output keeps to the rule."""

    feedback: str | None = Field(default=None, description="if it does not: what is wrong, and what to change")
    """What is wrong with it."""

    @field_validator("feedback", mode="before")
    @classmethod
    def _one_text(cls, value: Any) -> Any:
        return _joined(value)


class Faithfulness(BaseModel):
    """What a model says about an output and the context it has to be true to."""

    score: float = Field(ge=0, le=10, description="10: the context backs every statement; 0: it backs none")
    """How much of it the context backs, from 0 to 10."""

    verdict: Literal["FAITHFUL", "HALLUCINATED"] = Field(
        description="HALLUCINATED if any statement is made up or wrong"
    )
    """Whether all of it is backed."""

    reasons: str = Field(default="", description="each statement that the context does not back, and why")
    """What is not, and why."""

    @field_validator("score", mode="before")
    @classmethod
    def _of_ten(cls, value: Any) -> Any:
        return value.partition("/")[0] if isinstance(value, str) else value

    @field_validator("verdict", mode="before")
    @classmethod
    def _spelt(cls, value: Any) -> Any:
        return value.strip().upper() if isinstance(value, str) else value

    @field_validator("reasons", mode="before")
    @classmethod
    def _one_text(cls, value: Any) -> Any:
        return _joined(value) or ""


def _joined(value: Any) -> Any:
    """A list of sentences as one text."""
    return "; ".join(map(str, value)) if isinstance(value, list) else value  # pyright: ignore[reportUnknownArgumentType]


class ModelGuardrail(GuardrailVerbs):
    """The base of both: a guardrail that can be called with an output, or given to a task as `guardrail=`."""

    llm: Any
    """Who judges: anything that an agent takes as `llm`; None in a task is the model of its agent."""

    description: str
    """What it demands."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({shorten(self.description, 60)!r})"


class LLMGuardrail(ModelGuardrail):
    """A model judges whether an output keeps to a rule."""

    def __init__(self, description: str, llm: Any = None) -> None:
        """Take a rule.

        Args:
            description: what the output has to be like, in plain words.
            llm: who judges; None in a task is the model of its agent.
        """
        self.description, self.llm = description, llm


class HallucinationGuardrail(ModelGuardrail):
    """A model judges whether an output says only what its context backs."""

    description = "the output says nothing that its context does not back"

    context: str | None
    """What is known; None in a task is what the task was told of other tasks."""

    threshold: float | None
    """The score from which on an output is accepted, 0 to 10; None accepts what the model calls faithful."""

    tool_response: str
    """What tools found out: known, too."""

    def __init__(
        self, context: str | None = None, llm: Any = None, threshold: float | None = None, tool_response: str = ""
    ) -> None:
        """Take what an output has to be true to.

        Raises:
            ValueError: the threshold is not between 0 and 10.
        """
        if threshold is not None and not 0 <= threshold <= 10:
            raise ValueError(f"the threshold of a HallucinationGuardrail is a score from 0 to 10, not {threshold!r}")
        self.context, self.llm, self.threshold, self.tool_response = context, llm, threshold, tool_response


def model_guardrail(guardrail: Any) -> ModelGuardrail | None:
    """The model's judgement that a guardrail stands for; None for a function, and for a class with a call of its own."""
    if isinstance(guardrail, str):
        return LLMGuardrail(guardrail)
    if isinstance(guardrail, ModelGuardrail) and override_of(guardrail, "__call__") is None:
        return guardrail
    return None
