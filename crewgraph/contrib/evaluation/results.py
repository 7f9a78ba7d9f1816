"""What judging an agent gives: scores, results for tasks, and an agent's tasks together."""

from collections.abc import Sequence
from enum import Enum
from typing import Any

from pydantic import BaseModel, Field

from crewgraph.definitions.crew.evaluation import mean

__all__ = [
    "AgentAggregatedEvaluationResult",
    "AgentEvaluationResult",
    "AggregationStrategy",
    "EvaluationScore",
    "ExecutionState",
    "MetricCategory",
    "aggregated",
]


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


class ExecutionState:
    """Where an evaluation stands, and what it found out."""

    current_agent_id: str | None = None
    """Whose work is judged."""

    current_task_id: str | None = None
    """For which task."""

    def __init__(self) -> None:
        self.traces: dict[str, Any] = {}
        self.iteration = 1
        """Which round it is, from 1."""
        self.iterations_results: dict[int, dict[str, list[AgentEvaluationResult]]] = {}
        """The results of each round, by the agents' roles."""
        self.agent_evaluators: dict[str, Any] = {}


def aggregated(
    agent_id: str,
    agent_role: str,
    results: Sequence[AgentEvaluationResult],
    strategy: AggregationStrategy = AggregationStrategy.SIMPLE_AVERAGE,
) -> AgentAggregatedEvaluationResult:
    """The marks of an agent for all its tasks; a task without a mark for a side does not count there."""
    categories = dict.fromkeys(category for result in results for category in result.metrics)
    metrics = {category: _of_category(category, results, strategy) for category in categories}
    return AgentAggregatedEvaluationResult(
        agent_id=agent_id,
        agent_role=agent_role,
        task_count=len(results),
        aggregation_strategy=strategy,
        metrics=metrics,
        task_results=[result.task_id for result in results],
        overall_score=mean(score.score for score in metrics.values()),
    )


def _of_category(
    category: MetricCategory, results: Sequence[AgentEvaluationResult], strategy: AggregationStrategy
) -> EvaluationScore:
    given = [(result.metrics[category], result.complexity) for result in results if category in result.metrics]
    if len(given) == 1:
        return EvaluationScore(score=given[0][0].score, feedback=given[0][0].feedback)
    marks = [(score.score, weight) for score, weight in given if score.score is not None]
    texts = [score.feedback for score, _ in given if score.feedback]
    feedback = texts[0] if len(texts) == 1 else "\n\n".join(f"Feedback {n}: {text}" for n, text in enumerate(texts, 1))
    return EvaluationScore(score=_one(marks, strategy) if marks else None, feedback=feedback)


def _one(marks: Sequence[tuple[float, int]], strategy: AggregationStrategy) -> float:
    match strategy:
        case AggregationStrategy.BEST_PERFORMANCE:
            return max(mark for mark, _ in marks)
        case AggregationStrategy.WORST_PERFORMANCE:
            return min(mark for mark, _ in marks)
        case AggregationStrategy.WEIGHTED_BY_COMPLEXITY:
            return sum(mark * weight for mark, weight in marks) / sum(weight for _, weight in marks)
        case AggregationStrategy.SIMPLE_AVERAGE:
            return sum(mark for mark, _ in marks) / len(marks)
