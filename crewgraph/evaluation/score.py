"""A mark for one side of an agent's work."""

from enum import Enum

from pydantic import BaseModel, Field

__all__ = ["EvaluationScore", "MetricCategory"]


class MetricCategory(Enum):
    """What of an agent's work is judged."""

    GOAL_ALIGNMENT = "goal_alignment"
    SEMANTIC_QUALITY = "semantic_quality"
    REASONING_EFFICIENCY = "reasoning_efficiency"
    TOOL_SELECTION = "tool_selection"
    PARAMETER_EXTRACTION = "parameter_extraction"
    TOOL_INVOCATION = "tool_invocation"

    def title(self) -> str:
        """The name for people."""
        return self.value.replace("_", " ").title()


class EvaluationScore(BaseModel):
    """A mark, with why."""

    score: float | None = Field(default=5.0, ge=0.0, le=10.0)
    """0 (worst) to 10 (best); None where there is nothing to judge, or where it could not be judged."""

    feedback: str = ""
    """Why, and what could be better."""

    raw_response: str | None = None
    """What the model that judged replied."""

    def __str__(self) -> str:
        mark = "N/A" if self.score is None else f"{self.score:.1f}/10"
        return f"Score: {mark} - {self.feedback}"
