"""How an agent uses its tools: which ones, with what arguments, and what it does when they fail."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from crewgraph.evaluation.by_model import JudgedByModel, NothingToJudge, listed
from crewgraph.evaluation.score import MetricCategory
from crewgraph.text import shorten

__all__ = ["ParameterExtractionEvaluator", "ToolInvocationEvaluator", "ToolSelectionEvaluator"]

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
        offered = listed([f"{name}: {shorten(what, 300)}" for name, what in had.items()])
        used = listed([f"{call}, {number} times" if number > 1 else call for call, number in counted.items()])
        return f"Tools that it had:\n{offered or '-'}\n\nTools that it used:\n{used}"


class ParameterExtractionEvaluator(JudgedByModel):
    """Judges whether an agent gave its tools the right arguments; without a request where it used none."""

    _category = MetricCategory.PARAMETER_EXTRACTION

    def _facts(self, agent: Any, trace: Mapping[str, Any], task: Any) -> str:
        return f"Its calls of tools:\n{listed([_called(use) for use in _uses(trace)])}"


class ToolInvocationEvaluator(JudgedByModel):
    """Judges how an agent goes about calling tools: form, order, and what it does when one fails."""

    _category = MetricCategory.TOOL_INVOCATION

    def _facts(self, agent: Any, trace: Mapping[str, Any], task: Any) -> str:
        uses = _uses(trace)
        failed = [use for use in uses if not use.get("success", False)]
        lines = [f"{_called(use)} -> {shorten(str(use.get('result', '')), 300)}" for use in uses]
        share = f"{len(failed)} of {len(uses)} calls failed ({100 * len(failed) / len(uses):.0f} %)"
        return f"Its calls of tools, with what they gave:\n{listed(lines)}\n\n{share}"


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
