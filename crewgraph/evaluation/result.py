"""What judging agents found out."""

from enum import Enum

from pydantic import BaseModel, Field

from crewgraph.evaluation.score import EvaluationScore, MetricCategory

__all__ = ["AgentAggregatedEvaluationResult", "AgentEvaluationResult", "AggregationStrategy"]


class AggregationStrategy(Enum):
    """How the marks of several tasks become one."""

    SIMPLE_AVERAGE = "simple_average"
    """Their mean."""

    WEIGHTED_BY_COMPLEXITY = "weighted_by_complexity"
    """Their mean, where a task counts as often as it took requests to models and calls of tools."""

    BEST_PERFORMANCE = "best_performance"
    """The best one."""

    WORST_PERFORMANCE = "worst_performance"
    """The worst one."""


class AgentEvaluationResult(BaseModel):
    """The marks of an agent for one task."""

    agent_id: str
    """The agent."""

    task_id: str
    """The task; "lite_task" for work without one."""

    metrics: dict[MetricCategory, EvaluationScore] = Field(default_factory=dict[MetricCategory, EvaluationScore])
    """A mark for each side that was judged."""

    complexity: int = Field(default=1, ge=1)
    """How many requests to models and calls of tools the work took; at least 1."""


class AgentAggregatedEvaluationResult(BaseModel):
    """The marks of an agent for all its tasks."""

    agent_id: str = ""
    """The agent."""

    agent_role: str = ""
    """Its role."""

    task_count: int = 0
    """How many tasks were judged."""

    aggregation_strategy: AggregationStrategy = AggregationStrategy.SIMPLE_AVERAGE
    """How the marks of several tasks became one."""

    metrics: dict[MetricCategory, EvaluationScore] = Field(default_factory=dict[MetricCategory, EvaluationScore])
    """A mark for each side that was judged."""

    task_results: list[str] = Field(default_factory=list[str])
    """The ids of the tasks."""

    overall_score: float | None = None
    """The mean of the marks, 0 to 10; None where there is none."""

    def __str__(self) -> str:
        whole = "N/A" if self.overall_score is None else f"{self.overall_score:.1f}/10"
        lines = [
            f"Agent Evaluation: {self.agent_role}",
            f"Tasks: {self.task_count} ({self.aggregation_strategy.value})",
            f"Overall: {whole}",
            *(f"- {category.title()}: {score}" for category, score in self.metrics.items()),
        ]
        return "\n".join(lines)
