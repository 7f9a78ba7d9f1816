"""A trace: what a program did, without any wording of a framework."""

from collections import Counter
from pathlib import Path
from typing import Any, cast

from parity.model import marks, plain_name

__all__ = ["PHRASES", "trace_of"]

_EVENTS = {
    "CrewKickoffStartedEvent": "crew started",
    "CrewKickoffCompletedEvent": "crew completed",
    "CrewKickoffFailedEvent": "crew failed",
    "TaskStartedEvent": "task started",
    "TaskCompletedEvent": "task completed",
    "TaskFailedEvent": "task failed",
    "AgentExecutionStartedEvent": "agent started",
    "AgentExecutionCompletedEvent": "agent completed",
    "AgentExecutionErrorEvent": "agent failed",
    "LiteAgentExecutionStartedEvent": "lite agent started",
    "LiteAgentExecutionCompletedEvent": "lite agent completed",
    "LiteAgentExecutionErrorEvent": "lite agent failed",
    "ToolUsageStartedEvent": "tool started",
    "ToolUsageFinishedEvent": "tool finished",
    "ToolUsageErrorEvent": "tool failed",
    "LLMCallStartedEvent": "model started",
    "LLMCallCompletedEvent": "model completed",
    "LLMCallFailedEvent": "model failed",
    "LLMGuardrailStartedEvent": "guardrail started",
    "LLMGuardrailCompletedEvent": "guardrail completed",
    "LLMGuardrailFailedEvent": "guardrail completed",  # handlers of completed checks receive it, too
    "AgentReasoningStartedEvent": "reasoning started",
    "AgentReasoningCompletedEvent": "reasoning completed",
    "MethodExecutionStartedEvent": "method started",
    "MethodExecutionFinishedEvent": "method completed",
    "MethodExecutionFailedEvent": "method failed",
}
"""The events that are compared, and what they are called here; the others are counted."""

_REMEMBERED = {
    "MemoryRetrievalCompletedEvent": "memories gathered",
    "MemoryRetrievalFailedEvent": "memories not gathered",
    "MemoryQueryCompletedEvent": "memory searched",
    "MemoryQueryFailedEvent": "memory not searched",
    "MemorySaveCompletedEvent": "memory saved",
    "MemorySaveFailedEvent": "memory not saved",
    "KnowledgeQueryCompletedEvent": "knowledge query worded",
    "KnowledgeQueryFailedEvent": "knowledge query not worded",
    "KnowledgeRetrievalCompletedEvent": "knowledge gathered",
    "KnowledgeSearchQueryFailedEvent": "knowledge not gathered",
}
"""Results of memory and knowledge, with their names here; that it began is counted."""

PHRASES = ("failed guardrail validation after",)
"""Parts of messages that programs look for."""


def trace_of(record: dict[str, Any], asked: list[dict[str, Any]], program: Path, *, parallel: bool) -> dict[str, Any]:
    """The trace of a program.

    Args:
        record: the record of the harness.
        asked: the requests that the model recorded.
        program: the program's file: marks and words that stand in it are its own.
        parallel: whether the program does things at once, so that their order means nothing.
    """
    if "broken" in record:
        return {"broken": record["broken"], "requests": _requests(asked)}
    words = program.read_text("utf-8")
    events = cast("list[dict[str, Any]]", record["events"])
    reported = [_told(one) for one in events if one["event"] in _EVENTS]
    trace: dict[str, Any] = {
        "printed": sorted(record["printed"]) if parallel else record["printed"],
        "results": _own(record["results"], words),
        "raised": _raised(record["raised"], words),
        "tasks": _about(events, "Task", "task", words),
        "tools": _tools(events, words),
        "requests": _requests(asked),
        "conversations": {key: [one["roles"] for one in asked if str(one["for"]) == key] for key in _keys(asked)},
        "events": reported,
        "other_events": dict(sorted(Counter(one["event"] for one in events if one["event"] not in _EVENTS).items())),
        "files": {name: _own(content, words) for name, content in record["files"].items()},
        "warnings": sorted({one.partition(":")[0] for one in record["warnings"]}),
    }
    if remembered := [_remembered(one, words) for one in events if one["event"] in _REMEMBERED]:
        trace["memory"] = remembered
    if parallel:
        trace.get("memory", []).sort(key=str)
        trace["tasks"].sort()
        trace["tools"].sort(key=str)
        trace["events"].sort()
    return trace


def _told(event: dict[str, Any]) -> str:
    """An event by its name here; one of a flow's method with that method's name."""
    return " ".join([_EVENTS[event["event"]], *([event["method_name"]] if "method_name" in event else [])])


def _remembered(event: dict[str, Any], words: str) -> dict[str, Any]:
    """What was searched, found or saved: how, and the marks in it."""
    reported: dict[str, Any] = {"did": _REMEMBERED[event["event"]]}
    reported.update({name: event[name] for name in ("source_type", "limit", "score_threshold") if name in event})
    for name in ("query", "value", "results", "memory_content", "retrieved_knowledge"):
        if found := sorted(marks(str(event.get(name, ""))) & marks(words)):
            reported[name] = found
    return reported


def _keys(asked: list[dict[str, Any]]) -> list[str]:
    return sorted({str(one["for"]) for one in asked})


def _requests(asked: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The requests of each text of the script, in their order."""
    return {
        key: [
            {name: value for name, value in one.items() if name not in ("for", "roles")}
            for one in asked
            if str(one["for"]) == key
        ]
        for key in _keys(asked)
    }


def _raised(raised: dict[str, Any] | None, words: str) -> dict[str, Any] | None:
    if raised is None:
        return None
    text = str(raised["text"])
    reported: dict[str, Any] = {
        "types": raised["types"],
        "marks": sorted(marks(text) & marks(words)),
        "phrases": [phrase for phrase in PHRASES if phrase in text],
    }
    if "codes" in raised:
        reported["codes"] = raised["codes"]
    return reported


def _about(events: list[dict[str, Any]], kind: str, name: str, words: str) -> list[str]:
    """The tasks begun and ended, by name or by the marks of their descriptions."""
    return [
        _EVENTS[one["event"]] + (f": {_own(one[name], words)}" if name in one else "")
        for one in events
        if one["event"] in _EVENTS and one["event"].startswith(kind)
    ]


def _tools(events: list[dict[str, Any]], words: str) -> list[dict[str, Any]]:
    """Tool calls that ended: name, arguments, and the marks in what came of it."""
    found: list[dict[str, Any]] = []
    for one in events:
        if one["event"] in ("ToolUsageFinishedEvent", "ToolUsageErrorEvent"):
            reported: dict[str, Any] = {
                "name": plain_name(str(one.get("tool_name"))),
                "args": _own(one.get("tool_args"), words),
            }
            if one["event"] == "ToolUsageErrorEvent":
                reported["failed"] = True
            else:
                reported["marks"] = sorted(marks(str(one.get("output"))) & marks(words))
            found.append(reported)
    return found


def _own(value: Any, words: str) -> Any:
    """A value with only such texts as consist of the program's own words; of others the marks stay."""
    if isinstance(value, str):
        if all(line.strip() in words for line in value.splitlines()) or len(value.split()) <= 3:
            return value
        return f"({' '.join(sorted(marks(value) & marks(words)))})"
    if isinstance(value, list):
        return [_own(one, words) for one in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {key: _own(one, words) for key, one in cast("dict[str, Any]", value).items()}
    return value
