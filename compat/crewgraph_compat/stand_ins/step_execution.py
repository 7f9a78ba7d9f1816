"""What a step of a plan is done with, and what comes of it."""

from dataclasses import dataclass, field

__all__ = ["StepExecutionContext", "StepResult"]


@dataclass(frozen=True)
class StepExecutionContext:
    """What somebody who does one step knows of the whole."""

    task_description: str
    """The whole task."""

    task_goal: str
    """What is expected of it in the end."""

    dependency_results: dict[int, str] = field(default_factory=dict[int, str])
    """What came of the steps that it builds on, by their numbers."""

    def get_dependency_result(self, step_number: int) -> str | None:
        """What came of a step; None where it is not among them."""
        return self.dependency_results.get(step_number)


@dataclass
class StepResult:
    """What came of a step."""

    success: bool
    """Whether it was done."""

    result: str
    """What came of it; empty where it failed."""

    error: str | None = None
    """Why it failed."""

    tool_calls_made: list[str] = field(default_factory=list[str])
    """The tools that were used, in order."""

    execution_time: float = 0.0
    """How long it took, in seconds."""
