"""Conversion of events to lines of console output.

`event_lines` returns a `Line` for each event type that is shown. The `truncate_*` functions make texts fit to print.
"""

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from functools import singledispatch
from typing import Any, cast

from crewgraph import events
from crewgraph.events.base import attribute, brief
from crewgraph.redaction import redact
from crewgraph.text import printable

__all__ = [
    "Line",
    "LineStatus",
    "event_lines",
    "format_arguments",
    "output_text",
    "read_field",
    "truncate_block",
    "truncate_line",
    "truncate_name",
]


def format_arguments(values: object) -> str:
    """Format arguments as in a call, with secrets redacted."""
    values = redact(brief(values))
    if not isinstance(values, Mapping):
        return str(values)
    items = cast("Mapping[str, object]", values).items()
    return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in items)


def output_text(output: object) -> str:
    """Return the text of an output."""
    raw = attribute(output, "raw")
    if raw is not None:
        return raw
    return output if isinstance(output, str) else json.dumps(brief(output), ensure_ascii=False)


def read_field(source: object, name: str) -> object:
    """Return a field of an object or a mapping; None if it is missing."""
    if isinstance(source, Mapping):
        return cast("Mapping[str, object]", source).get(name)
    return getattr(source, name, None)


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


@singledispatch
def event_lines(event: events.BaseEvent) -> Line | None:
    """Return the line of an event; None for events that are not shown."""
    return None


def _scope(event: events.BaseEvent) -> str:
    task = getattr(event, "from_task", None) or getattr(event, "task", None)
    parent = getattr(task, "original", None)
    if parent is not None:  # a coworker works on a delegated part of the task
        return f"{attribute(parent, 'name') or attribute(parent, 'description')} > {attribute(task, 'coworker_role')}"
    return event.task_name or event.agent_role or "run"


def _crew_scope(event: events.CrewBaseEvent) -> str:
    return event.crew_name or "crew"


def _crew_key(event: events.CrewBaseEvent) -> Hashable:
    return ("crew", event.crew_name, id(event.crew))


# Crews


@event_lines.register
def _(event: events.CrewKickoffStartedEvent) -> Line:
    thread = f" on thread {event.thread_id}" if event.thread_id else ""
    inputs = format_arguments(event.inputs) if event.inputs else ""
    title = f"crew started{thread}"
    return Line(scope=_crew_scope(event), title=title, text=inputs, status=LineStatus.START, starts=_crew_key(event))


@event_lines.register
def _(event: events.CrewKickoffCompletedEvent) -> Line:
    return Line(
        scope=_crew_scope(event),
        title="crew completed",
        text=_token_summary(event),
        body=output_text(event.output),
        status=LineStatus.SUCCESS,
        ends=_crew_key(event),
    )


def _token_summary(event: events.CrewKickoffCompletedEvent) -> str:
    usage = read_field(event.output, "token_usage")
    total = event.total_tokens or read_field(usage, "total_tokens")
    if not total:
        return ""
    prompt, completion, requests = (
        read_field(usage, f"{kind}") for kind in ("prompt_tokens", "completion_tokens", "successful_requests")
    )
    details = [
        f"{count:,} {label}"
        for count, label in (
            (prompt, "in"),
            (completion, "out"),
            (requests, "request" if requests == 1 else "requests"),
        )
        if count
    ]
    return f"{total:,} tokens" + (f" ({', '.join(details)})" if details else "")


@event_lines.register
def _(event: events.CrewKickoffFailedEvent) -> Line:
    return Line(
        scope=_crew_scope(event), title="crew failed", text=event.error, status=LineStatus.ERROR, ends=_crew_key(event)
    )


@event_lines.register
def _(event: events.CrewKickoffPausedEvent) -> Line:
    text = f"resume({event.thread_id!r}, ...)"
    return Line(
        scope=_crew_scope(event),
        title="crew paused for input",
        text=text,
        status=LineStatus.WARNING,
        ends=_crew_key(event),
    )


def _rounds(count: int) -> str:
    return f"{count} round" if count == 1 else f"{count} rounds"


@event_lines.register
def _(event: events.CrewTrainStartedEvent) -> Line:
    text = f"{_rounds(event.n_iterations)}, saved to {event.filename}"
    return Line(scope=_crew_scope(event), title="training started", text=text, status=LineStatus.START)


@event_lines.register
def _(event: events.CrewTrainCompletedEvent) -> Line:
    text = f"{_rounds(event.n_iterations)}, saved to {event.filename}"
    return Line(scope=_crew_scope(event), title="training completed", text=text, status=LineStatus.SUCCESS)


@event_lines.register
def _(event: events.CrewTrainFailedEvent) -> Line:
    return Line(scope=_crew_scope(event), title="training failed", text=event.error, status=LineStatus.ERROR)


@event_lines.register
def _(event: events.CrewTestStartedEvent) -> Line:
    text = _rounds(event.n_iterations)
    return Line(scope=_crew_scope(event), title="test started", text=text, status=LineStatus.START)


@event_lines.register
def _(event: events.CrewTestResultEvent) -> Line:
    text = f"{event.quality:g} of 10, scored by {event.model}"
    duration = timedelta(seconds=event.execution_duration)
    return Line(scope=_crew_scope(event), title="test result", text=text, duration=duration)


@event_lines.register
def _(event: events.CrewTestCompletedEvent) -> Line:
    return Line(scope=_crew_scope(event), title="test completed", status=LineStatus.SUCCESS)


@event_lines.register
def _(event: events.CrewTestFailedEvent) -> Line:
    return Line(scope=_crew_scope(event), title="test failed", text=event.error, status=LineStatus.ERROR)


# Tasks and agents


def _task_key(event: events.BaseEvent) -> Hashable:
    return ("task", event.task_id or event.task_name)


@event_lines.register
def _(event: events.TaskStartedEvent) -> Line:
    description = attribute(event.task, "description") or ""
    text = "" if description == event.task_name else description
    return Line(
        scope=_scope(event),
        title="task started",
        text=text,
        limit=_SHORT_LIMIT,
        status=LineStatus.START,
        starts=_task_key(event),
    )


@event_lines.register
def _(event: events.TaskCompletedEvent) -> Line:
    return Line(
        scope=_scope(event),
        title="task completed",
        text=output_text(event.output),
        status=LineStatus.SUCCESS,
        ends=_task_key(event),
    )


@event_lines.register
def _(event: events.TaskFailedEvent) -> Line:
    return Line(
        scope=_scope(event), title="task failed", text=event.error, status=LineStatus.ERROR, ends=_task_key(event)
    )


@event_lines.register
def _(event: events.AgentExecutionStartedEvent) -> Line:
    return Line(scope=_scope(event), title="agent started", text=event.agent_role or "")


@event_lines.register
def _(event: events.AgentExecutionErrorEvent) -> Line:
    return Line(scope=_scope(event), title="agent failed", text=event.error, status=LineStatus.ERROR)


@event_lines.register
def _(event: events.LiteAgentExecutionStartedEvent) -> Line:
    key = ("agent", event.agent_id, event.agent_role)
    return Line(scope=_scope(event), title="agent started", status=LineStatus.START, starts=key)


@event_lines.register
def _(event: events.LiteAgentExecutionCompletedEvent) -> Line:
    key = ("agent", event.agent_id, event.agent_role)
    return Line(scope=_scope(event), title="agent completed", body=event.output, status=LineStatus.SUCCESS, ends=key)


@event_lines.register
def _(event: events.LiteAgentExecutionErrorEvent) -> Line:
    key = ("agent", event.agent_id, event.agent_role)
    return Line(scope=_scope(event), title="agent failed", text=event.error, status=LineStatus.ERROR, ends=key)


@event_lines.register
def _(event: events.AgentStepEvent) -> Line | None:
    thought = event.step if isinstance(event.step, str) else read_field(event.step, "thought")
    if not thought:
        return None
    return Line(scope=_scope(event), title=f"thought {event.iteration}", text=str(thought))


@event_lines.register
def _(event: events.AgentReasoningCompletedEvent) -> Line:
    title = "plan" if event.ready else f"plan not ready (attempt {event.attempt})"
    return Line(scope=_scope(event), title=title, text=event.plan)


@event_lines.register
def _(event: events.AgentReasoningFailedEvent) -> Line:
    return Line(scope=_scope(event), title="planning failed", text=event.error, status=LineStatus.WARNING)


# Models, tools and guardrails


@event_lines.register
def _(event: events.LLMCallDelayedEvent) -> Line:
    reason = "requested by the provider" if event.max_rpm is None else f"limited by max_rpm={event.max_rpm}"
    return Line(scope=_scope(event), title="model call delayed", text=f"{event.seconds:.1f} s, {reason}")


@event_lines.register
def _(event: events.LLMFallbackEvent) -> Line:
    text = f"{event.fallback} replaces {event.model}: {event.error}"
    return Line(scope=_scope(event), title="model fallback", text=text, status=LineStatus.WARNING)


@event_lines.register
def _(event: events.LLMCallFailedEvent) -> Line:
    return Line(scope=_scope(event), title="model call failed", text=event.error, status=LineStatus.ERROR)


@event_lines.register
def _(event: events.ToolUsageStartedEvent) -> Line:
    text = f"{event.tool_name}({format_arguments(event.tool_args)})"
    return Line(scope=_scope(event), title="tool call", text=text, limit=_SHORT_LIMIT)


@event_lines.register
def _(event: events.ToolUsageFinishedEvent) -> Line:
    title = f"tool {event.tool_name} returned" + (" from cache" if event.from_cache else "")
    duration = None if event.from_cache else event.finished_at - event.started_at
    return Line(scope=_scope(event), title=title, text=output_text(event.output), duration=duration)


@event_lines.register
def _(
    event: events.ToolUsageErrorEvent
    | events.ToolSelectionErrorEvent
    | events.ToolValidateInputErrorEvent
    | events.ToolExecutionErrorEvent,
) -> Line:
    title = f"tool {event.tool_name} failed"
    return Line(scope=_scope(event), title=title, text=str(brief(event.error)), status=LineStatus.WARNING)


@event_lines.register
def _(event: events.LLMGuardrailCompletedEvent) -> Line | None:
    attempts = _attempts(event)
    if not event.success:
        title = f"guardrail blocked ({attempts})"
        return Line(scope=_scope(event), title=title, text=event.error or "", status=LineStatus.WARNING)
    return Line(scope=_scope(event), title=f"guardrail passed ({attempts})") if event.retry_count else None


@event_lines.register
def _(event: events.LLMGuardrailFailedEvent) -> Line:
    title = f"guardrail failed ({_attempts(event)})"
    return Line(scope=_scope(event), title=title, text=event.error or "", status=LineStatus.ERROR)


def _attempts(event: events.LLMGuardrailCompletedEvent) -> str:
    retries = getattr(event.from_task, "guardrail_max_retries", None)
    return f"attempt {event.retry_count + 1}" + (f"/{retries + 1}" if isinstance(retries, int) else "")


@event_lines.register
def _(event: events.HumanInputRequestedEvent) -> Line:
    if event.tool_name is not None:
        text = f"allow {event.tool_name}({format_arguments(event.tool_args)})?"
        return Line(scope=_scope(event), title="input requested", text=text, status=LineStatus.WARNING)
    return Line(
        scope=_scope(event), title="input requested", body=event.output or event.message, status=LineStatus.WARNING
    )


@event_lines.register
def _(event: events.HumanInputReceivedEvent) -> Line:
    answer = output_text(event.answer)
    if event.tool_name is None:
        answer = {"": "accepted", "true": "accepted"}.get(answer.strip(), answer)
    return Line(scope=_scope(event), title="input received", text=answer)


# Memory and knowledge


@event_lines.register
def _(event: events.MemoryRetrievalCompletedEvent) -> Line | None:
    if not event.memory_content:
        return None
    duration = timedelta(milliseconds=event.retrieval_time_ms)
    return Line(scope=_scope(event), title="memory retrieved", text=event.memory_content, duration=duration)


@event_lines.register
def _(event: events.KnowledgeRetrievalCompletedEvent) -> Line | None:
    if not event.retrieved_knowledge:
        return None
    return Line(scope=_scope(event), title="knowledge retrieved", text=event.retrieved_knowledge)


@event_lines.register
def _(event: events.MemorySaveFailedEvent | events.MemoryQueryFailedEvent) -> Line:
    return Line(scope=_scope(event), title="memory failed", text=event.error, status=LineStatus.WARNING)


@event_lines.register
def _(event: events.KnowledgeQueryFailedEvent | events.KnowledgeSearchQueryFailedEvent) -> Line:
    return Line(scope=_scope(event), title="knowledge failed", text=event.error, status=LineStatus.WARNING)


# Flows


@event_lines.register
def _(event: events.FlowStartedEvent) -> Line:
    inputs = format_arguments(event.inputs) if event.inputs else ""
    key = ("flow", event.flow_name)
    return Line(scope=event.flow_name, title="flow started", text=inputs, status=LineStatus.START, starts=key)


@event_lines.register
def _(event: events.FlowFinishedEvent) -> Line:
    body = "" if event.result is None else output_text(event.result)
    key = ("flow", event.flow_name)
    return Line(scope=event.flow_name, title="flow finished", body=body, status=LineStatus.SUCCESS, ends=key)


@event_lines.register
def _(event: events.FlowFailedEvent) -> Line:
    text = f"{type(event.error).__name__}: {event.error}"
    return Line(
        scope=event.flow_name, title="flow failed", text=text, status=LineStatus.ERROR, ends=("flow", event.flow_name)
    )


@event_lines.register
def _(event: events.FlowPausedEvent) -> Line:
    text = f"resume({event.flow_id!r}, ...)"
    key = ("flow", event.flow_name)
    return Line(scope=event.flow_name, title="flow paused for input", text=text, status=LineStatus.WARNING, ends=key)


def _method_line(event: Any, title: str, **fields: Any) -> Line:
    return Line(scope=f"{event.flow_name}.{event.method_name}", title=title, **fields)


@event_lines.register
def _(event: events.MethodExecutionStartedEvent) -> Line:
    return _method_line(event, "method started", starts=("method", event.flow_name, event.method_name))


@event_lines.register
def _(event: events.MethodExecutionFinishedEvent) -> Line:
    text = "" if event.result is None else output_text(event.result)
    return _method_line(event, "method finished", text=text, ends=("method", event.flow_name, event.method_name))


@event_lines.register
def _(event: events.MethodExecutionFailedEvent) -> Line:
    key = ("method", event.flow_name, event.method_name)
    return _method_line(event, "method failed", text=str(brief(event.error)), status=LineStatus.ERROR, ends=key)


@event_lines.register
def _(event: events.MethodExecutionPausedEvent) -> Line:
    key = ("method", event.flow_name, event.method_name)
    text = f"{event.message} ({', '.join(event.emit)})" if event.emit else event.message
    return _method_line(event, "method paused for input", text=text, status=LineStatus.WARNING, ends=key)


@event_lines.register
def _(event: events.FlowInputReceivedEvent) -> Line:
    return _method_line(event, "input received", text=event.response or "")


@event_lines.register
def _(event: events.HumanFeedbackReceivedEvent) -> Line:
    text = f"{event.feedback} ({event.outcome})" if event.outcome else event.feedback
    return _method_line(event, "input received", text=text)


def truncate_name(text: str, limit: int) -> str:
    """Return a name on one line, at most `limit` characters long."""
    name = " ".join(printable(text).split())
    return name if len(name) <= limit else f"{name[: limit - 3].rstrip()}..."


def truncate_line(text: str, limit: int) -> str:
    """Return a text on one line; beyond `limit` characters it is truncated, with the number of characters left out."""
    return _truncate(" ".join(printable(text).split()), limit)


def truncate_block(text: str, limit: int) -> str:
    """Like `truncate_line`, but keeps the line breaks."""
    return _truncate("\n".join(line.rstrip() for line in printable(text).strip().splitlines()), limit)


def _truncate(text: str, limit: int) -> str:
    mark = f" ... [+{len(text) - limit:,} characters]"
    return text if len(text) <= limit + len(mark) else f"{text[:limit].rstrip()}{mark}"
