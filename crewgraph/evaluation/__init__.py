"""Judging agents: what they did, side by side, by a model; and experiments that hold the scores."""

from crewgraph.evaluation.agents import AgentEvaluator, create_default_evaluator
from crewgraph.evaluation.answer_metrics import GoalAlignmentEvaluator, SemanticQualityEvaluator
from crewgraph.evaluation.evaluator import BaseEvaluator
from crewgraph.evaluation.experiment import ExperimentRunner
from crewgraph.evaluation.experiment_result import ExperimentResult, ExperimentResults
from crewgraph.evaluation.reasoning_metrics import ReasoningEfficiencyEvaluator
from crewgraph.evaluation.result import AgentAggregatedEvaluationResult, AgentEvaluationResult, AggregationStrategy
from crewgraph.evaluation.score import EvaluationScore, MetricCategory
from crewgraph.evaluation.testing import (
    assert_experiment_no_regression,
    assert_experiment_successfully,
    run_experiment,
)
from crewgraph.evaluation.tool_metrics import (
    ParameterExtractionEvaluator,
    ToolInvocationEvaluator,
    ToolSelectionEvaluator,
)
from crewgraph.evaluation.trace import EvaluationTraceCallback, create_evaluation_callbacks

__all__ = [
    "AgentAggregatedEvaluationResult",
    "AgentEvaluationResult",
    "AgentEvaluator",
    "AggregationStrategy",
    "BaseEvaluator",
    "EvaluationScore",
    "EvaluationTraceCallback",
    "ExperimentResult",
    "ExperimentResults",
    "ExperimentRunner",
    "GoalAlignmentEvaluator",
    "MetricCategory",
    "ParameterExtractionEvaluator",
    "ReasoningEfficiencyEvaluator",
    "SemanticQualityEvaluator",
    "ToolInvocationEvaluator",
    "ToolSelectionEvaluator",
    "assert_experiment_no_regression",
    "assert_experiment_successfully",
    "create_default_evaluator",
    "create_evaluation_callbacks",
    "run_experiment",
]
