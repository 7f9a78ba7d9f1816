"""Results of evaluations: scores, results per task, and aggregates per agent."""

from collections.abc import Sequence
from enum import Enum

from pydantic import BaseModel, Field

from crewgraph.definitions.crew.evaluation import mean
from crewgraph.schema import PlainDict

__all__ = [
    "AgentAggregatedEvaluationResult",
    "AgentEvaluationResult",
    "AggregationStrategy",
    "EvaluationScore",
    "ExecutionState",
    "MetricCategory",
    "aggregate_results",
]


class MetricCategory(Enum):
    """Metrics of an agent's work."""

    GOAL_ALIGNMENT = "goal_alignment"
    SEMANTIC_QUALITY = "semantic_quality"
    REASONING_EFFICIENCY = "reasoning_efficiency"
    TOOL_SELECTION = "tool_selection"
    PARAMETER_EXTRACTION = "parameter_extraction"
    TOOL_INVOCATION = "tool_invocation"

    def title(self) -> str:
        """Return the display name."""
        return self.value.replace("_", " ").title()


class EvaluationScore(BaseModel):
    """A score with feedback."""

    score: float | None = Field(default=5.0, ge=0.0, le=10.0)
    """0 (worst) to 10 (best); None if there is nothing to evaluate, or evaluation failed."""

    feedback: str = ""
    """The reasons, and suggestions."""

    raw_response: str | None = None
    """The reply of the evaluating model."""

    def __str__(self) -> str:
        score = "N/A" if self.score is None else f"{self.score:.1f}/10"
        return f"Score: {score} - {self.feedback}"


class AggregationStrategy(Enum):
    """How the scores of several tasks are combined."""

    SIMPLE_AVERAGE = "simple_average"
    """The mean."""

    WEIGHTED_BY_COMPLEXITY = "weighted_by_complexity"
    """The mean, weighted by the number of model and tool calls of each task."""

    BEST_PERFORMANCE = "best_performance"
    """The highest score."""

    WORST_PERFORMANCE = "worst_performance"
    """The lowest score."""


class AgentEvaluationResult(BaseModel):
    """An agent's scores for one task."""

    agent_id: str

    task_id: str
    """The task's id; "lite_task" for work without a task."""

    metrics: dict[MetricCategory, EvaluationScore] = Field(default_factory=dict[MetricCategory, EvaluationScore])
    """Scores by metric."""

    complexity: int = Field(default=1, ge=1)
    """Number of model and tool calls, at least 1."""


class AgentAggregatedEvaluationResult(BaseModel):
    """An agent's aggregated scores."""

    agent_id: str = ""
    agent_role: str = ""

    task_count: int = 0
    """Number of evaluated tasks."""

    aggregation_strategy: AggregationStrategy = AggregationStrategy.SIMPLE_AVERAGE
    """How the scores of several tasks were combined."""

    metrics: dict[MetricCategory, EvaluationScore] = Field(default_factory=dict[MetricCategory, EvaluationScore])
    """Scores by metric."""

    task_results: list[str] = Field(default_factory=list[str])
    """Ids of the tasks."""

    overall_score: float | None = None
    """Mean of the scores, 0 to 10; None if there are none."""

    def __str__(self) -> str:
        overall = "N/A" if self.overall_score is None else f"{self.overall_score:.1f}/10"
        lines = [
            f"Agent Evaluation: {self.agent_role}",
            f"Tasks: {self.task_count} ({self.aggregation_strategy.value})",
            f"Overall: {overall}",
            *(f"- {category.title()}: {score}" for category, score in self.metrics.items()),
        ]
        return "\n".join(lines)


class ExecutionState:
    """Progress and results of an evaluation."""

    current_agent_id: str | None = None
    """Id of the agent being evaluated."""

    current_task_id: str | None = None
    """Id of the task being evaluated."""

    def __init__(self) -> None:
        self.traces: PlainDict = {}
        self.iteration = 1
        """Number of the iteration, from 1."""
        self.iterations_results: dict[int, dict[str, list[AgentEvaluationResult]]] = {}
        """Results by iteration and agent role."""
        self.agent_evaluators: PlainDict = {}


def aggregate_results(
    agent_id: str,
    agent_role: str,
    results: Sequence[AgentEvaluationResult],
    strategy: AggregationStrategy = AggregationStrategy.SIMPLE_AVERAGE,
) -> AgentAggregatedEvaluationResult:
    """Aggregate an agent's results; tasks without a score for a metric do not count for it."""
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
    weighted = [(result.metrics[category], result.complexity) for result in results if category in result.metrics]
    if len(weighted) == 1:
        return EvaluationScore(score=weighted[0][0].score, feedback=weighted[0][0].feedback)
    scores = [(score.score, weight) for score, weight in weighted if score.score is not None]
    texts = [score.feedback for score, _ in weighted if score.feedback]
    feedback = texts[0] if len(texts) == 1 else "\n\n".join(f"Feedback {n}: {text}" for n, text in enumerate(texts, 1))
    return EvaluationScore(score=_combine(scores, strategy) if scores else None, feedback=feedback)


def _combine(scores: Sequence[tuple[float, int]], strategy: AggregationStrategy) -> float:
    match strategy:
        case AggregationStrategy.BEST_PERFORMANCE:
            return max(score for score, _ in scores)
        case AggregationStrategy.WORST_PERFORMANCE:
            return min(score for score, _ in scores)
        case AggregationStrategy.WEIGHTED_BY_COMPLEXITY:
            return sum(score * weight for score, weight in scores) / sum(weight for _, weight in scores)
        case AggregationStrategy.SIMPLE_AVERAGE:
            return sum(score for score, _ in scores) / len(scores)
