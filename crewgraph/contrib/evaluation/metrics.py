"""The six metrics of an agent's work that a model evaluates."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, cast

from crewgraph.contrib.evaluation.evaluator import ModelEvaluator, NothingToEvaluate, bullet_list
from crewgraph.contrib.evaluation.results import MetricCategory
from crewgraph.schema import PlainMapping
from crewgraph.text import shorten

__all__ = [
    "GoalAlignmentEvaluator",
    "ParameterExtractionEvaluator",
    "ReasoningEfficiencyEvaluator",
    "ReasoningPatternType",
    "SemanticQualityEvaluator",
    "ToolInvocationEvaluator",
    "ToolSelectionEvaluator",
    "reasoning_pattern",
]


class _AnswerEvaluator(ModelEvaluator):
    def _facts(self, agent: object, trace: Mapping[str, object], task: object) -> str:
        return ""


class GoalAlignmentEvaluator(_AnswerEvaluator):
    """Evaluates whether the result does what the task asks for."""

    _category = MetricCategory.GOAL_ALIGNMENT


class SemanticQualityEvaluator(_AnswerEvaluator):
    """Evaluates whether the result is clear, well structured and free of contradictions."""

    _category = MetricCategory.SEMANTIC_QUALITY


_Use = Mapping[str, Any]


class ToolSelectionEvaluator(ModelEvaluator):
    """Evaluates whether an agent chose the right tools; sends no request if it used none."""

    _category = MetricCategory.TOOL_SELECTION

    def _facts(self, agent: object, trace: Mapping[str, object], task: object) -> str:
        tools = [*(getattr(agent, "tools", None) or ()), *(getattr(task, "tools", None) or ())]
        uses = _tool_uses(trace)
        if not uses:
            raise NothingToEvaluate("The agent has tools and used none." if tools else "The agent has no tools.")
        descriptions = {str(getattr(tool, "name", tool)): str(getattr(tool, "description", "")) for tool in tools}
        counts = Counter(_call_text(use, with_args=False) for use in uses)
        offered = bullet_list([f"{name}: {shorten(text, 300)}" for name, text in descriptions.items()])
        used = bullet_list([f"{call}, {number} times" if number > 1 else call for call, number in counts.items()])
        return f"Tools that it had:\n{offered or '-'}\n\nTools that it used:\n{used}"


class ParameterExtractionEvaluator(ModelEvaluator):
    """Evaluates whether an agent passed the right arguments to its tools; sends no request if it used none."""

    _category = MetricCategory.PARAMETER_EXTRACTION

    def _facts(self, agent: object, trace: Mapping[str, object], task: object) -> str:
        return f"Its calls of tools:\n{bullet_list([_call_text(use) for use in _required_uses(trace)])}"


class ToolInvocationEvaluator(ModelEvaluator):
    """Evaluates how an agent calls tools: form, order, and handling of failures."""

    _category = MetricCategory.TOOL_INVOCATION

    def _facts(self, agent: object, trace: Mapping[str, object], task: object) -> str:
        uses = _required_uses(trace)
        failed = [use for use in uses if not use.get("success", False)]
        lines = [f"{_call_text(use)} -> {shorten(str(use.get('result', '')), 300)}" for use in uses]
        share = f"{len(failed)} of {len(uses)} calls failed ({100 * len(failed) / len(uses):.0f} %)"
        return f"Its calls of tools, with what they gave:\n{bullet_list(lines)}\n\n{share}"


def _required_uses(trace: Mapping[str, object]) -> Sequence[_Use]:
    uses = _tool_uses(trace)
    if not uses:
        raise NothingToEvaluate("The agent used no tools.")
    return uses


def _tool_uses(trace: PlainMapping) -> Sequence[_Use]:
    return trace.get("tool_uses", ())


def _call_text(use: _Use, *, with_args: bool = True) -> str:
    name, args = str(use.get("tool", "?")), use.get("args", {})
    text = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False, default=str)
    call = f"{name}({shorten(text, 300)})" if with_args else name
    return call if use.get("success", True) else f"{call} [failed: {use.get('error_type', 'error')}]"


_LOOP_SIMILARITY = 0.95
_SCATTERED_SIMILARITY = 0.05
_VERBOSE_WORDS = 400
_RECONSIDERING = re.compile(
    r"\b(?:wait|actually|hmm|on second thought|let me reconsider|alternatively)\b", re.IGNORECASE
)


class ReasoningPatternType(Enum):
    """The pattern of an agent's successive replies."""

    EFFICIENT = "efficient"
    LOOP = "loop"
    VERBOSE = "verbose"
    INDECISIVE = "indecisive"
    SCATTERED = "scattered"


class ReasoningEfficiencyEvaluator(ModelEvaluator):
    """Evaluates how directly an agent reaches its answer; sends no request if it called its model only once."""

    _category = MetricCategory.REASONING_EFFICIENCY

    def _facts(self, agent: object, trace: PlainMapping, task: object) -> str:
        calls: Sequence[PlainMapping] = trace.get("llm_calls") or []
        if len(calls) < 2:
            raise NothingToEvaluate("The agent needed no more than one request: there is no way to judge.")
        texts = [_text(call.get("response")) for call in calls]
        tokens = sum(int(call.get("total_tokens") or 0) for call in calls)
        lines = [
            f"{len(calls)} requests to its model, {tokens} tokens in all ({tokens / len(calls):.0f} each)",
            f"what the replies look like: {reasoning_pattern(texts).value}",
        ]
        replies = bullet_list([shorten(" ".join(text.split()), 600) for text in texts], 12)
        return f"{bullet_list(lines)}\n\nIts replies, in order:\n{replies}"


def reasoning_pattern(replies: Sequence[str]) -> ReasoningPatternType:
    """Classify replies by their words: nearly identical, very long, reconsidering, or unrelated to each other."""
    words = [set(re.findall(r"\w+", reply.lower())) for reply in replies]
    similarities = [_similarity(first, second) for first, second in zip(words, words[1:], strict=False)]
    if any(share >= _LOOP_SIMILARITY for share in similarities):
        return ReasoningPatternType.LOOP
    if sum(len(_RECONSIDERING.findall(reply)) for reply in replies) > len(replies):
        return ReasoningPatternType.INDECISIVE
    if replies and sum(len(reply.split()) for reply in replies) / len(replies) > _VERBOSE_WORDS:
        return ReasoningPatternType.VERBOSE
    if len(similarities) > 1 and max(similarities) < _SCATTERED_SIMILARITY:
        return ReasoningPatternType.SCATTERED
    return ReasoningPatternType.EFFICIENT


def _similarity(first: set[str], second: set[str]) -> float:
    return len(first & second) / len(first | second) if first | second else 1.0


def _text(response: object) -> str:
    if isinstance(response, list):
        return "; ".join(str(item) for item in cast("list[Any]", response))
    return str(response)
