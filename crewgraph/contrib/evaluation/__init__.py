"""Evaluation of agents by a model, metric by metric, and experiments that compare scores with expectations and baselines."""

from crewgraph.contrib.evaluation.agents import AgentEvaluator, create_default_evaluator
from crewgraph.contrib.evaluation.evaluator import BaseEvaluator
from crewgraph.contrib.evaluation.experiment import (
    ExperimentRunner,
    assert_experiment_no_regression,
    assert_experiment_successfully,
    run_experiment,
)
from crewgraph.contrib.evaluation.experiment_results import ExperimentResult, ExperimentResults
from crewgraph.contrib.evaluation.metrics import (
    GoalAlignmentEvaluator,
    ParameterExtractionEvaluator,
    ReasoningEfficiencyEvaluator,
    SemanticQualityEvaluator,
    ToolInvocationEvaluator,
    ToolSelectionEvaluator,
)
from crewgraph.contrib.evaluation.results import (
    AgentAggregatedEvaluationResult,
    AgentEvaluationResult,
    AggregationStrategy,
    EvaluationScore,
    MetricCategory,
)
from crewgraph.contrib.evaluation.trace import EvaluationTraceCallback, create_evaluation_callbacks

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
