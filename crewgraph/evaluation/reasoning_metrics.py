"""How straight an agent's way to its answer is."""

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, cast

from crewgraph.evaluation.by_model import JudgedByModel, NothingToJudge, listed
from crewgraph.evaluation.score import MetricCategory
from crewgraph.text import shorten

__all__ = ["ReasoningEfficiencyEvaluator", "ReasoningPatternType", "pattern_of"]

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
        replies = listed([shorten(" ".join(text.split()), 600) for text in texts], 12)
        return f"{listed(lines)}\n\nIts replies, in order:\n{replies}"


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
