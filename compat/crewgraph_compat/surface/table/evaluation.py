"""Judging agents, and experiments."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_SCORE = rows("crewgraph.evaluation.score", "EvaluationScore", "MetricCategory")
_EVALUATOR = rows("crewgraph.evaluation.evaluator", "BaseEvaluator")
_RESULT = rows("crewgraph.evaluation.result", "AgentEvaluationResult")
_AGENTS = rows("crewgraph.evaluation.agents", "AgentEvaluator", "create_default_evaluator")
_TRACE = rows("crewgraph.evaluation.trace", "EvaluationTraceCallback", "create_evaluation_callbacks")
_RUNNER = rows("crewgraph.evaluation.experiment", "ExperimentRunner")
_RESULTS = rows("crewgraph.evaluation.experiment_result", "ExperimentResult", "ExperimentResults")
_ANSWERS = rows("crewgraph.evaluation.answer_metrics", "GoalAlignmentEvaluator", "SemanticQualityEvaluator")
_GOAL = {"GoalAlignmentEvaluator": _ANSWERS["GoalAlignmentEvaluator"]}
_QUALITY = {"SemanticQualityEvaluator": _ANSWERS["SemanticQualityEvaluator"]}
_REASONING = rows("crewgraph.evaluation.reasoning_metrics", "ReasoningEfficiencyEvaluator")
_TOOLS = rows(
    "crewgraph.evaluation.tool_metrics",
    "ParameterExtractionEvaluator",
    "ToolInvocationEvaluator",
    "ToolSelectionEvaluator",
)
_METRICS = {**_ANSWERS, **_REASONING, **_TOOLS}
_ALL = {**_SCORE, **_EVALUATOR, **_RESULT, **_AGENTS, **_TRACE, **_RUNNER, **_RESULTS, **_METRICS}

MODULES: dict[str, dict[str, str]] = {
    "crewai.experimental": _ALL,
    "crewai.experimental.evaluation": _ALL,
    "crewai.experimental.evaluation.agent_evaluator": {
        **_AGENTS,
        **rows("crewgraph.evaluation.state", "ExecutionState"),
    },
    "crewai.experimental.evaluation.base_evaluator": {
        **_SCORE,
        **_EVALUATOR,
        **_RESULT,
        **rows("crewgraph.evaluation.result", "AgentAggregatedEvaluationResult", "AggregationStrategy"),
    },
    "crewai.experimental.evaluation.evaluation_display": rows(
        "crewgraph.evaluation.display", "EvaluationDisplayFormatter"
    ),
    "crewai.experimental.evaluation.evaluation_listener": _TRACE,
    "crewai.experimental.evaluation.experiment": {**_RUNNER, **_RESULTS},
    "crewai.experimental.evaluation.experiment.result": _RESULTS,
    "crewai.experimental.evaluation.experiment.result_display": rows(
        "crewgraph.evaluation.experiment_display", "ExperimentResultsDisplay"
    ),
    "crewai.experimental.evaluation.experiment.runner": _RUNNER,
    "crewai.experimental.evaluation.json_parser": rows("crewgraph.evaluation.reply", "extract_json_from_llm_response"),
    "crewai.experimental.evaluation.metrics": _METRICS,
    "crewai.experimental.evaluation.metrics.goal_metrics": _GOAL,
    "crewai.experimental.evaluation.metrics.reasoning_metrics": {
        **_REASONING,
        **rows("crewgraph.evaluation.reasoning_metrics", "ReasoningPatternType"),
    },
    "crewai.experimental.evaluation.metrics.semantic_quality_metrics": _QUALITY,
    "crewai.experimental.evaluation.metrics.tools_metrics": _TOOLS,
    "crewai.experimental.evaluation.testing": rows(
        "crewgraph.evaluation.testing",
        "assert_experiment_no_regression",
        "assert_experiment_successfully",
        "run_experiment",
    ),
}
"""The modules of this area."""
