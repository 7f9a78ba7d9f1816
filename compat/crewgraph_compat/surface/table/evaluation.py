"""Judging agents, and experiments."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_ROOM = "crewgraph.contrib.evaluation"
_SCORE = rows(f"{_ROOM}.results", "EvaluationScore", "MetricCategory")
_EVALUATOR = rows(f"{_ROOM}.evaluator", "BaseEvaluator")
_RESULT = rows(f"{_ROOM}.results", "AgentEvaluationResult")
_AGENTS = rows(f"{_ROOM}.agents", "AgentEvaluator", "create_default_evaluator")
_TRACE = rows(f"{_ROOM}.trace", "EvaluationTraceCallback", "create_evaluation_callbacks")
_RUNNER = rows(f"{_ROOM}.experiment", "ExperimentRunner")
_RESULTS = rows(f"{_ROOM}.experiment_results", "ExperimentResult", "ExperimentResults")
_ANSWERS = rows(f"{_ROOM}.metrics", "GoalAlignmentEvaluator", "SemanticQualityEvaluator")
_GOAL = {"GoalAlignmentEvaluator": _ANSWERS["GoalAlignmentEvaluator"]}
_QUALITY = {"SemanticQualityEvaluator": _ANSWERS["SemanticQualityEvaluator"]}
_REASONING = rows(f"{_ROOM}.metrics", "ReasoningEfficiencyEvaluator")
_TOOLS = rows(f"{_ROOM}.metrics", "ParameterExtractionEvaluator", "ToolInvocationEvaluator", "ToolSelectionEvaluator")
_METRICS = {**_ANSWERS, **_REASONING, **_TOOLS}
_ALL = {**_SCORE, **_EVALUATOR, **_RESULT, **_AGENTS, **_TRACE, **_RUNNER, **_RESULTS, **_METRICS}

MODULES: dict[str, dict[str, str]] = {
    "crewai.experimental": _ALL,
    "crewai.experimental.evaluation": _ALL,
    "crewai.experimental.evaluation.agent_evaluator": {**_AGENTS, **rows(f"{_ROOM}.results", "ExecutionState")},
    "crewai.experimental.evaluation.base_evaluator": {
        **_SCORE,
        **_EVALUATOR,
        **_RESULT,
        **rows(f"{_ROOM}.results", "AgentAggregatedEvaluationResult", "AggregationStrategy"),
    },
    "crewai.experimental.evaluation.evaluation_display": rows(
        "crewgraph.contrib.evaluation.display", "EvaluationDisplayFormatter"
    ),
    "crewai.experimental.evaluation.evaluation_listener": _TRACE,
    "crewai.experimental.evaluation.experiment": {**_RUNNER, **_RESULTS},
    "crewai.experimental.evaluation.experiment.result": _RESULTS,
    "crewai.experimental.evaluation.experiment.result_display": rows(f"{_ROOM}.display", "ExperimentResultsDisplay"),
    "crewai.experimental.evaluation.experiment.runner": _RUNNER,
    "crewai.experimental.evaluation.json_parser": rows(f"{_ROOM}.evaluator", "extract_json_from_llm_response"),
    "crewai.experimental.evaluation.metrics": _METRICS,
    "crewai.experimental.evaluation.metrics.goal_metrics": _GOAL,
    "crewai.experimental.evaluation.metrics.reasoning_metrics": {
        **_REASONING,
        **rows(f"{_ROOM}.metrics", "ReasoningPatternType"),
    },
    "crewai.experimental.evaluation.metrics.semantic_quality_metrics": _QUALITY,
    "crewai.experimental.evaluation.metrics.tools_metrics": _TOOLS,
    "crewai.experimental.evaluation.testing": rows(
        f"{_ROOM}.experiment",
        "assert_experiment_no_regression",
        "assert_experiment_successfully",
        "run_experiment",
    ),
}
"""The modules of this area."""
