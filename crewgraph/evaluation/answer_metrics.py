"""How well an answer does what was asked for, and how good it is in itself."""

from collections.abc import Mapping
from typing import Any

from crewgraph.evaluation.by_model import JudgedByModel
from crewgraph.evaluation.score import MetricCategory

__all__ = ["GoalAlignmentEvaluator", "SemanticQualityEvaluator"]


class _OfAnswer(JudgedByModel):
    def _facts(self, agent: Any, trace: Mapping[str, Any], task: Any) -> str:
        return ""


class GoalAlignmentEvaluator(_OfAnswer):
    """Judges whether the result does what the task asks for."""

    _category = MetricCategory.GOAL_ALIGNMENT


class SemanticQualityEvaluator(_OfAnswer):
    """Judges whether the result is clear, in good order and without contradictions."""

    _category = MetricCategory.SEMANTIC_QUALITY
