"""Conversion of events to lines of console output.

`event_lines` returns a `Line` for each event type that is shown. The `truncate_*` functions make texts fit to print.
"""

import json
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any

from crewgraph import events
from crewgraph.events.base import attribute, brief
from crewgraph.redaction import redact
from crewgraph.schema import get_field, is_mapping
from crewgraph.text import printable


def format_arguments(values: object) -> str:
    """Format arguments as in a call, with secrets redacted."""
    values = redact(brief(values))
    if not is_mapping(values):
        return str(values)
    return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in values.items())


def output_text(output: object) -> str:
    """Return the text of an output."""
    raw = attribute(output, "raw")
    if raw is not None:
        return raw
    return output if isinstance(output, str) else json.dumps(brief(output), ensure_ascii=False)


_TEXT_LIMIT = 300
_BODY_LIMIT = 4000


class LineStatus(Enum):
    """The kind of a line, which decides its mark and color."""

    START = "start"
    STEP = "step"
    SUCCESS = "success"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of output; its texts are truncated and escaped when they are printed."""

    scope: str
    """The task, crew or flow it belongs to."""

    title: str
    """What happened, in a few fixed words."""

    text: str = ""
    """Details, shown on the same line."""

    limit: int = _TEXT_LIMIT
    """Maximum length of the text, in characters."""

    body: str = ""
    """A longer text, shown on lines of its own."""

    body_limit: int = _BODY_LIMIT
    """Maximum length of the body, in characters."""

    status: LineStatus = LineStatus.STEP
    starts: Hashable = None
    """Key of the duration that starts with this event."""

    ends: Hashable = None
    """Key of the duration that ends with this event."""

    duration: timedelta | None = None
    """The duration, if the event itself holds it."""


_SHORT_LIMIT = 160
_START, _SUCCESS, _WARNING, _ERROR = LineStatus.START, LineStatus.SUCCESS, LineStatus.WARNING, LineStatus.ERROR


def event_lines(event: events.BaseEvent) -> Line | None:
    """Return the line of an event; None for events that are not shown."""
    line = next((line for kind in type(event).__mro__ if (line := LINES.get(kind)) is not None), None)
    return None if line is None else line(event)


def _crew_line(event: events.CrewBaseEvent, title: str, text: str = "", **fields: Any) -> Line:
    return Line(scope=event.crew_name or "crew", title=title, text=text, **fields)


def _crew_key(event: events.CrewBaseEvent) -> Hashable:
    return ("crew", event.crew_name, id(event.crew))


def _crew_completed(event: events.CrewKickoffCompletedEvent) -> Line:
    usage = get_field(event.output, "token_usage")
    total = event.total_tokens or get_field(usage, "total_tokens")
    prompt, completion, requests = (
        get_field(usage, name) for name in ("prompt_tokens", "completion_tokens", "successful_requests")
    )
    labels = ((prompt, "in"), (completion, "out"), (requests, "request" if requests == 1 else "requests"))
    details = ", ".join(f"{count:,} {label}" for count, label in labels if count)
    text = f"{total:,} tokens" + (f" ({details})" if details else "") if total else ""
    body = output_text(event.output)
    return _crew_line(event, "crew completed", text, body=body, status=_SUCCESS, ends=_crew_key(event))


def _rounds(event: Any) -> str:
    rounds = f"{event.n_iterations} round" + ("" if event.n_iterations == 1 else "s")
    return f"{rounds}, saved to {event.filename}" if hasattr(event, "filename") else rounds


def _task_line(event: Any, title: str, text: str = "", **fields: Any) -> Line:
    task = getattr(event, "from_task", None) or getattr(event, "task", None)
    parent = getattr(task, "original", None)
    if parent is None:
        scope = event.task_name or event.agent_role or "run"
    else:  # a coworker works on a delegated part of the task
        scope = f"{attribute(parent, 'name') or attribute(parent, 'description')} > {attribute(task, 'coworker_role')}"
    return Line(scope=scope, title=title, text=text, **fields)


def _key_of_task(event: events.BaseEvent) -> Hashable:
    return ("task", event.task_id or event.task_name)


def _started_line(event: events.TaskStartedEvent) -> Line:
    description = attribute(event.task, "description") or ""
    text = "" if description == event.task_name else description
    return _task_line(event, "task started", text, limit=_SHORT_LIMIT, status=_START, starts=_key_of_task(event))


def _agent_key(event: Any) -> Hashable:
    return ("agent", event.agent_id, event.agent_role)


def _thought_line(event: events.AgentStepEvent) -> Line | None:
    thought = event.step if isinstance(event.step, str) else get_field(event.step, "thought")
    return _task_line(event, f"thought {event.iteration}", str(thought)) if thought else None


def _delayed(event: events.LLMCallDelayedEvent) -> Line:
    reason = "requested by the provider" if event.max_rpm is None else f"limited by max_rpm={event.max_rpm}"
    return _task_line(event, "model call delayed", f"{event.seconds:.1f} s, {reason}")


def _tool_returned(event: events.ToolUsageFinishedEvent) -> Line:
    title = f"tool {event.tool_name} returned" + (" from cache" if event.from_cache else "")
    duration = None if event.from_cache else event.finished_at - event.started_at
    return _task_line(event, title, output_text(event.output), duration=duration)


def _failed_tool_line(event: Any) -> Line:
    return _task_line(event, f"tool {event.tool_name} failed", str(brief(event.error)), status=_WARNING)


def _attempts(event: Any) -> str:
    retries = getattr(event.from_task, "guardrail_max_retries", None)
    return f"(attempt {event.retry_count + 1}" + (f"/{retries + 1})" if isinstance(retries, int) else ")")


def _guardrail(event: events.LLMGuardrailCompletedEvent) -> Line | None:
    if not event.success:
        return _task_line(event, f"guardrail blocked {_attempts(event)}", event.error or "", status=_WARNING)
    return _task_line(event, f"guardrail passed {_attempts(event)}") if event.retry_count else None


def _asked(event: events.HumanInputRequestedEvent) -> Line:
    if event.tool_name is None:
        return _task_line(event, "input requested", body=event.output or event.message, status=_WARNING)
    return _task_line(event, "input requested", f"allow {_call_text(event)}?", status=_WARNING)


def _call_text(event: Any) -> str:
    return f"{event.tool_name}({format_arguments(event.tool_args)})"


def _answered(event: events.HumanInputReceivedEvent) -> Line:
    answer = output_text(event.answer)
    if event.tool_name is None:
        answer = {"": "accepted", "true": "accepted"}.get(answer.strip(), answer)
    return _task_line(event, "input received", answer)


def _memory(event: events.MemoryRetrievalCompletedEvent) -> Line | None:
    duration = timedelta(milliseconds=event.retrieval_time_ms)
    return (
        _task_line(event, "memory retrieved", event.memory_content, duration=duration) if event.memory_content else None
    )


def _knowledge(event: events.KnowledgeRetrievalCompletedEvent) -> Line | None:
    found = event.retrieved_knowledge
    return _task_line(event, "knowledge retrieved", found) if found else None


def _flow_line(event: Any, title: str, text: str = "", **fields: Any) -> Line:
    return Line(scope=event.flow_name, title=title, text=text, **fields)


def _flow_key(event: Any) -> Hashable:
    return ("flow", event.flow_name)


def _method_line(event: Any, title: str, text: str = "", **fields: Any) -> Line:
    return Line(scope=f"{event.flow_name}.{event.method_name}", title=title, text=text, **fields)


def _method_key(event: Any) -> Hashable:
    return ("method", event.flow_name, event.method_name)


def _said(text: str, more: str) -> str:
    return f"{text} ({more})" if more else text


def _error(show: Callable[..., Line], title: str, status: LineStatus = _ERROR) -> "_Show":
    return lambda event: show(event, title, event.error or "", status=status)


def _shown_result(result: object) -> str:
    return "" if result is None else output_text(result)


def _inputs(inputs: object) -> str:
    return format_arguments(inputs) if inputs else ""


_Show = Callable[[Any], Line | None]

LINES: Mapping[type, _Show] = {
    events.CrewKickoffStartedEvent: lambda event: _crew_line(
        event,
        "crew started" + (f" on thread {event.thread_id}" if event.thread_id else ""),
        _inputs(event.inputs),
        status=_START,
        starts=_crew_key(event),
    ),
    events.CrewKickoffCompletedEvent: _crew_completed,
    events.CrewKickoffFailedEvent: lambda event: _crew_line(
        event, "crew failed", event.error, status=_ERROR, ends=_crew_key(event)
    ),
    events.CrewKickoffPausedEvent: lambda event: _crew_line(
        event,
        "crew paused for input",
        f"resume({event.thread_id!r}, ...)",
        status=_WARNING,
        ends=_crew_key(event),
    ),
    events.CrewTrainStartedEvent: lambda event: _crew_line(event, "training started", _rounds(event), status=_START),
    events.CrewTrainCompletedEvent: lambda event: _crew_line(
        event, "training completed", _rounds(event), status=_SUCCESS
    ),
    events.CrewTrainFailedEvent: _error(_crew_line, "training failed"),
    events.CrewTestStartedEvent: lambda event: _crew_line(event, "test started", _rounds(event), status=_START),
    events.CrewTestResultEvent: lambda event: _crew_line(
        event,
        "test result",
        f"{event.quality:g} of 10, scored by {event.model}",
        duration=timedelta(seconds=event.execution_duration),
    ),
    events.CrewTestCompletedEvent: lambda event: _crew_line(event, "test completed", status=_SUCCESS),
    events.CrewTestFailedEvent: _error(_crew_line, "test failed"),
    events.TaskStartedEvent: _started_line,
    events.TaskCompletedEvent: lambda event: _task_line(
        event, "task completed", output_text(event.output), status=_SUCCESS, ends=_key_of_task(event)
    ),
    events.TaskFailedEvent: lambda event: _task_line(
        event, "task failed", event.error, status=_ERROR, ends=_key_of_task(event)
    ),
    events.AgentExecutionStartedEvent: lambda event: _task_line(event, "agent started", event.agent_role or ""),
    events.AgentExecutionErrorEvent: _error(_task_line, "agent failed"),
    events.LiteAgentExecutionStartedEvent: lambda event: _task_line(
        event, "agent started", status=_START, starts=_agent_key(event)
    ),
    events.LiteAgentExecutionCompletedEvent: lambda event: _task_line(
        event, "agent completed", body=event.output, status=_SUCCESS, ends=_agent_key(event)
    ),
    events.LiteAgentExecutionErrorEvent: lambda event: _task_line(
        event, "agent failed", event.error, status=_ERROR, ends=_agent_key(event)
    ),
    events.AgentStepEvent: _thought_line,
    events.AgentReasoningCompletedEvent: lambda event: _task_line(
        event, "plan" if event.ready else f"plan not ready (attempt {event.attempt})", event.plan
    ),
    events.AgentReasoningFailedEvent: _error(_task_line, "planning failed", _WARNING),
    events.LLMCallDelayedEvent: _delayed,
    events.LLMFallbackEvent: lambda event: _task_line(
        event, "model fallback", f"{event.fallback} replaces {event.model}: {event.error}", status=_WARNING
    ),
    events.LLMCallFailedEvent: _error(_task_line, "model call failed"),
    events.ToolUsageStartedEvent: lambda event: _task_line(event, "tool call", _call_text(event), limit=_SHORT_LIMIT),
    events.ToolUsageFinishedEvent: _tool_returned,
    events.ToolUsageErrorEvent: _failed_tool_line,
    events.ToolSelectionErrorEvent: _failed_tool_line,
    events.ToolValidateInputErrorEvent: _failed_tool_line,
    events.ToolExecutionErrorEvent: _failed_tool_line,
    events.LLMGuardrailCompletedEvent: _guardrail,
    events.LLMGuardrailFailedEvent: lambda event: _task_line(
        event, f"guardrail failed {_attempts(event)}", event.error or "", status=_ERROR
    ),
    events.HumanInputRequestedEvent: _asked,
    events.HumanInputReceivedEvent: _answered,
    events.MemoryRetrievalCompletedEvent: _memory,
    events.KnowledgeRetrievalCompletedEvent: _knowledge,
    events.MemorySaveFailedEvent: _error(_task_line, "memory failed", _WARNING),
    events.MemoryQueryFailedEvent: _error(_task_line, "memory failed", _WARNING),
    events.KnowledgeQueryFailedEvent: _error(_task_line, "knowledge failed", _WARNING),
    events.KnowledgeSearchQueryFailedEvent: _error(_task_line, "knowledge failed", _WARNING),
    events.FlowStartedEvent: lambda event: _flow_line(
        event, "flow started", _inputs(event.inputs), status=_START, starts=_flow_key(event)
    ),
    events.FlowFinishedEvent: lambda event: _flow_line(
        event, "flow finished", body=_shown_result(event.result), status=_SUCCESS, ends=_flow_key(event)
    ),
    events.FlowFailedEvent: lambda event: _flow_line(
        event,
        "flow failed",
        f"{type(event.error).__name__}: {event.error}",
        status=_ERROR,
        ends=_flow_key(event),
    ),
    events.FlowPausedEvent: lambda event: _flow_line(
        event,
        "flow paused for input",
        f"resume({event.flow_id!r}, ...)",
        status=_WARNING,
        ends=_flow_key(event),
    ),
    events.MethodExecutionStartedEvent: lambda event: _method_line(event, "method started", starts=_method_key(event)),
    events.MethodExecutionFinishedEvent: lambda event: _method_line(
        event, "method finished", _shown_result(event.result), ends=_method_key(event)
    ),
    events.MethodExecutionFailedEvent: lambda event: _method_line(
        event, "method failed", str(brief(event.error)), status=_ERROR, ends=_method_key(event)
    ),
    events.MethodExecutionPausedEvent: lambda event: _method_line(
        event,
        "method paused for input",
        _said(event.message, ", ".join(event.emit or ())),
        status=_WARNING,
        ends=_method_key(event),
    ),
    events.FlowInputReceivedEvent: lambda event: _method_line(event, "input received", event.response or ""),
    events.HumanFeedbackReceivedEvent: lambda event: _method_line(
        event, "input received", _said(event.feedback, event.outcome)
    ),
}
"""How each kind of event that is shown becomes a line."""


def truncate_name(text: str, limit: int) -> str:
    """Return a name on one line, at most `limit` characters long."""
    name = " ".join(printable(text).split())
    return name if len(name) <= limit else f"{name[: limit - 3].rstrip()}..."


def truncate_line(text: str, limit: int) -> str:
    """Return a text on one line; beyond `limit` characters it is truncated, with the number of characters left out."""
    return _cut(" ".join(printable(text).split()), limit)


def truncate_block(text: str, limit: int) -> str:
    """Like `truncate_line`, but keeps the line breaks."""
    return _cut("\n".join(line.rstrip() for line in printable(text).strip().splitlines()), limit)


def _cut(text: str, limit: int) -> str:
    mark = f" ... [+{len(text) - limit:,} characters]"
    return text if len(text) <= limit + len(mark) else f"{text[:limit].rstrip()}{mark}"
