"""The six sides of an agent's work that a model judges."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, cast

from crewgraph.contrib.evaluation.evaluator import JudgedByModel, NothingToJudge, bullet_list
from crewgraph.contrib.evaluation.results import MetricCategory
from crewgraph.text import shorten

__all__ = [
    "GoalAlignmentEvaluator",
    "ParameterExtractionEvaluator",
    "ReasoningEfficiencyEvaluator",
    "ReasoningPatternType",
    "SemanticQualityEvaluator",
    "ToolInvocationEvaluator",
    "ToolSelectionEvaluator",
    "pattern_of",
]


class _OfAnswer(JudgedByModel):
    def _facts(self, agent: Any, trace: Mapping[str, Any], task: Any) -> str:
        return ""


class GoalAlignmentEvaluator(_OfAnswer):
    """Judges whether the result does what the task asks for."""

    _category = MetricCategory.GOAL_ALIGNMENT


class SemanticQualityEvaluator(_OfAnswer):
    """Judges whether the result is clear, in good order and without contradictions."""

    _category = MetricCategory.SEMANTIC_QUALITY


_Use = Mapping[str, Any]


class ToolSelectionEvaluator(JudgedByModel):
    """Judges whether an agent chose the right tools; without a request where it used none."""

    _category = MetricCategory.TOOL_SELECTION

    def _facts(self, agent: Any, trace: Mapping[str, Any], task: Any) -> str:
        tools = [*(getattr(agent, "tools", None) or ()), *(getattr(task, "tools", None) or ())]
        uses = _used(trace)
        if not uses:
            raise NothingToJudge("The agent has tools and used none." if tools else "The agent has no tools.")
        had = {str(getattr(tool, "name", tool)): str(getattr(tool, "description", "")) for tool in tools}
        counted = Counter(_called(use, shown=False) for use in uses)
        offered = bullet_list([f"{name}: {shorten(what, 300)}" for name, what in had.items()])
        used = bullet_list([f"{call}, {number} times" if number > 1 else call for call, number in counted.items()])
        return f"Tools that it had:\n{offered or '-'}\n\nTools that it used:\n{used}"


class ParameterExtractionEvaluator(JudgedByModel):
    """Judges whether an agent gave its tools the right arguments; without a request where it used none."""

    _category = MetricCategory.PARAMETER_EXTRACTION

    def _facts(self, agent: Any, trace: Mapping[str, Any], task: Any) -> str:
        return f"Its calls of tools:\n{bullet_list([_called(use) for use in _uses(trace)])}"


class ToolInvocationEvaluator(JudgedByModel):
    """Judges how an agent goes about calling tools: form, order, and what it does when one fails."""

    _category = MetricCategory.TOOL_INVOCATION

    def _facts(self, agent: Any, trace: Mapping[str, Any], task: Any) -> str:
        uses = _uses(trace)
        failed = [use for use in uses if not use.get("success", False)]
        lines = [f"{_called(use)} -> {shorten(str(use.get('result', '')), 300)}" for use in uses]
        share = f"{len(failed)} of {len(uses)} calls failed ({100 * len(failed) / len(uses):.0f} %)"
        return f"Its calls of tools, with what they gave:\n{bullet_list(lines)}\n\n{share}"


def _uses(trace: Mapping[str, Any]) -> Sequence[_Use]:
    uses = _used(trace)
    if not uses:
        raise NothingToJudge("The agent used no tools.")
    return uses


def _used(trace: Mapping[str, Any]) -> Sequence[_Use]:
    return trace.get("tool_uses", ())


def _called(use: _Use, *, shown: bool = True) -> str:
    name, args = str(use.get("tool", "?")), use.get("args", {})
    written = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False, default=str)
    call = f"{name}({shorten(written, 300)})" if shown else name
    return call if use.get("success", True) else f"{call} [failed: {use.get('error_type', 'error')}]"


_ALIKE = 0.95
_APART = 0.05
_LONG = 400  # words
_TURNS = re.compile(r"\b(?:wait|actually|hmm|on second thought|let me reconsider|alternatively)\b", re.IGNORECASE)


class ReasoningPatternType(Enum):
    """What an agent's replies look like, one behind the other."""

    EFFICIENT = "efficient"
    LOOP = "loop"
    VERBOSE = "verbose"
    INDECISIVE = "indecisive"
    SCATTERED = "scattered"


class ReasoningEfficiencyEvaluator(JudgedByModel):
    """Judges how straight an agent's way to its answer is; without a request where it asked its model only once."""

    _category = MetricCategory.REASONING_EFFICIENCY

    def _facts(self, agent: Any, trace: Mapping[str, Any], task: Any) -> str:
        calls: Sequence[Mapping[str, Any]] = trace.get("llm_calls") or []
        if len(calls) < 2:
            raise NothingToJudge("The agent needed no more than one request: there is no way to judge.")
        texts = [_text(call.get("response")) for call in calls]
        tokens = sum(int(call.get("total_tokens") or 0) for call in calls)
        lines = [
            f"{len(calls)} requests to its model, {tokens} tokens in all ({tokens / len(calls):.0f} each)",
            f"what the replies look like: {pattern_of(texts).value}",
        ]
        replies = bullet_list([shorten(" ".join(text.split()), 600) for text in texts], 12)
        return f"{bullet_list(lines)}\n\nIts replies, in order:\n{replies}"


def pattern_of(replies: Sequence[str]) -> ReasoningPatternType:
    """What replies look like, by their words: much the same, very long, of two minds, or about something else each time."""
    words = [set(re.findall(r"\w+", reply.lower())) for reply in replies]
    alike = [_shared(one, other) for one, other in zip(words, words[1:], strict=False)]
    if any(share >= _ALIKE for share in alike):
        return ReasoningPatternType.LOOP
    if sum(len(_TURNS.findall(reply)) for reply in replies) > len(replies):
        return ReasoningPatternType.INDECISIVE
    if replies and sum(len(reply.split()) for reply in replies) / len(replies) > _LONG:
        return ReasoningPatternType.VERBOSE
    if len(alike) > 1 and max(alike) < _APART:
        return ReasoningPatternType.SCATTERED
    return ReasoningPatternType.EFFICIENT


def _shared(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 1.0


def _text(response: Any) -> str:
    if isinstance(response, list):
        return "; ".join(str(one) for one in cast("list[Any]", response))
    return str(response)
