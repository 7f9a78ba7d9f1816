"""What CrewAI's decorator for people's words is made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field

__all__ = ["DistilledLessons", "HumanFeedbackCollapseError", "HumanFeedbackConfig", "PreReviewResult"]


class HumanFeedbackCollapseError(ValueError):
    """An answer comes to none of the outcomes; here a `RunError` says so."""


class PreReviewResult(BaseModel):
    """An output, mended before somebody looks at it."""

    improved_output: str
    """The output as it is to be shown."""


class DistilledLessons(BaseModel):
    """What there is to learn from what somebody said."""

    lessons: list[str] = Field(default_factory=list)
    """The lessons, each a sentence."""


@dataclass
class HumanFeedbackConfig:
    """What `human_feedback` was given."""

    message: str
    emit: Sequence[str] | None = None
    llm: Any = None
    default_outcome: str | None = None
    metadata: dict[str, Any] | None = None
    provider: Any = None
    learn: bool = False
    learn_source: str = "hitl"
    learn_strict: bool = False
