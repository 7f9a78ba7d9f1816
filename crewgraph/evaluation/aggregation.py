"""The marks of several tasks as one."""

from collections.abc import Sequence

from crewgraph.definitions.evaluation import mean
from crewgraph.evaluation.result import AgentAggregatedEvaluationResult, AgentEvaluationResult, AggregationStrategy
from crewgraph.evaluation.score import EvaluationScore, MetricCategory

__all__ = ["aggregated"]


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
