"""What there is to see of each event.

What events hold, as texts for a line.

One thing to see of a run.

Text made fit to be looked at: on one line, without control characters, and not too long.
"""

import json
import unicodedata
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from functools import singledispatch
from typing import Any, cast

from crewgraph import events
from crewgraph.events.base import attribute, brief
from crewgraph.observe.redaction import veiled

__all__ = ["Line", "Mood", "arguments", "elided", "event_lines", "excerpt", "legible", "part", "passage", "said"]


def arguments(values: object) -> str:
    """Arguments as they stand in a call, secrets covered."""
    values = veiled(brief(values))
    if not isinstance(values, Mapping):
        return str(values)
    named = cast("Mapping[str, object]", values).items()
    return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in named)


def said(output: object) -> str:
    """An output's text."""
    raw = attribute(output, "raw")
    if raw is not None:
        return raw
    return output if isinstance(output, str) else json.dumps(brief(output), ensure_ascii=False)


def part(of: object, name: str) -> Any:
    """A part of something that may be an object or a dict."""
    if isinstance(of, Mapping):
        return cast("Mapping[str, object]", of).get(name)
    return getattr(of, name, None)


_TEXT = 300
_BODY = 4000


class Mood(Enum):
    """How a line is meant."""

    START = "start"
    STEP = "step"
    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"


@dataclass(frozen=True, kw_only=True)
class Line:
    """One thing to see; its texts are as they came and are cut and cleaned where they are printed."""

    where: str
    """The task, crew or flow it belongs to."""

    what: str
    """What happened, in a few words that stay the same."""

    text: str = ""
    """What there is to say about it, shown on one line."""

    limit: int = _TEXT
    """How much of the text is shown, in characters."""

    body: str = ""
    """A longer text with lines of its own."""

    body_limit: int = _BODY
    """How much of the body is shown, in characters."""

    mood: Mood = Mood.STEP
    """How it is meant."""

    begins: Hashable = None
    """What begins here, so that its end can tell how long it took."""

    ends: Hashable = None
    """What ends here."""

    took: timedelta | None = None
    """How long it took, where the event itself knows."""


_SHORT = 160


@singledispatch
def event_lines(event: events.BaseEvent) -> Line | None:
    """What there is to see of an event; None where it is not worth a line."""
    return None


def _where(event: events.BaseEvent) -> str:
    task = getattr(event, "from_task", None) or getattr(event, "task", None)
    whole = getattr(task, "whole", None)
    if whole is not None:  # a coworker works on a part of it
        return f"{attribute(whole, 'name') or attribute(whole, 'description')} > {attribute(task, 'handed_to')}"
    return event.task_name or event.agent_role or "run"


def _crew(event: events.CrewBaseEvent) -> str:
    return event.crew_name or "crew"


def _crew_key(event: events.CrewBaseEvent) -> Hashable:
    return ("crew", event.crew_name, id(event.crew))


# Crews


@event_lines.register
def _(event: events.CrewKickoffStartedEvent) -> Line:
    thread = f" on thread {event.thread_id}" if event.thread_id else ""
    inputs = arguments(event.inputs) if event.inputs else ""
    what = f"crew started{thread}"
    return Line(where=_crew(event), what=what, text=inputs, mood=Mood.START, begins=_crew_key(event))


@event_lines.register
def _(event: events.CrewKickoffCompletedEvent) -> Line:
    return Line(
        where=_crew(event),
        what="crew completed",
        text=_tokens(event),
        body=said(event.output),
        mood=Mood.GOOD,
        ends=_crew_key(event),
    )


def _tokens(event: events.CrewKickoffCompletedEvent) -> str:
    usage = part(event.output, "token_usage")
    total = event.total_tokens or part(usage, "total_tokens")
    if not total:
        return ""
    into, out, requests = (
        part(usage, f"{kind}") for kind in ("prompt_tokens", "completion_tokens", "successful_requests")
    )
    parts = [
        f"{n:,} {word}"
        for n, word in ((into, "in"), (out, "out"), (requests, "request" if requests == 1 else "requests"))
        if n
    ]
    return f"{total:,} tokens" + (f" ({', '.join(parts)})" if parts else "")


@event_lines.register
def _(event: events.CrewKickoffFailedEvent) -> Line:
    return Line(where=_crew(event), what="crew failed", text=event.error, mood=Mood.BAD, ends=_crew_key(event))


@event_lines.register
def _(event: events.CrewKickoffPausedEvent) -> Line:
    text = f"resume({event.thread_id!r}, ...)"
    return Line(
        where=_crew(event), what="crew waits for an answer", text=text, mood=Mood.WARNING, ends=_crew_key(event)
    )


@event_lines.register
def _(event: events.CrewTrainStartedEvent) -> Line:
    text = f"{event.n_iterations} iterations into {event.filename}"
    return Line(where=_crew(event), what="training started", text=text, mood=Mood.START)


@event_lines.register
def _(event: events.CrewTrainCompletedEvent) -> Line:
    text = f"{event.n_iterations} iterations into {event.filename}"
    return Line(where=_crew(event), what="training completed", text=text, mood=Mood.GOOD)


@event_lines.register
def _(event: events.CrewTrainFailedEvent) -> Line:
    return Line(where=_crew(event), what="training failed", text=event.error, mood=Mood.BAD)


@event_lines.register
def _(event: events.CrewTestStartedEvent) -> Line:
    text = f"{event.n_iterations} iterations"
    return Line(where=_crew(event), what="test started", text=text, mood=Mood.START)


@event_lines.register
def _(event: events.CrewTestResultEvent) -> Line:
    text = f"{event.quality:g} of 10, judged by {event.model}"
    took = timedelta(seconds=event.execution_duration)
    return Line(where=_crew(event), what="test result", text=text, took=took)


@event_lines.register
def _(event: events.CrewTestCompletedEvent) -> Line:
    return Line(where=_crew(event), what="test completed", mood=Mood.GOOD)


@event_lines.register
def _(event: events.CrewTestFailedEvent) -> Line:
    return Line(where=_crew(event), what="test failed", text=event.error, mood=Mood.BAD)


# Tasks and agents


def _task_key(event: events.BaseEvent) -> Hashable:
    return ("task", event.task_id or event.task_name)


@event_lines.register
def _(event: events.TaskStartedEvent) -> Line:
    description = attribute(event.task, "description") or ""
    text = "" if description == event.task_name else description
    return Line(
        where=_where(event),
        what="task started",
        text=text,
        limit=_SHORT,
        mood=Mood.START,
        begins=_task_key(event),
    )


@event_lines.register
def _(event: events.TaskCompletedEvent) -> Line:
    return Line(
        where=_where(event),
        what="task completed",
        text=said(event.output),
        mood=Mood.GOOD,
        ends=_task_key(event),
    )


@event_lines.register
def _(event: events.TaskFailedEvent) -> Line:
    return Line(where=_where(event), what="task failed", text=event.error, mood=Mood.BAD, ends=_task_key(event))


@event_lines.register
def _(event: events.AgentExecutionStartedEvent) -> Line:
    return Line(where=_where(event), what="agent started", text=event.agent_role or "")


@event_lines.register
def _(event: events.AgentExecutionErrorEvent) -> Line:
    return Line(where=_where(event), what="agent failed", text=event.error, mood=Mood.BAD)


@event_lines.register
def _(event: events.LiteAgentExecutionStartedEvent) -> Line:
    key = ("agent", event.agent_id, event.agent_role)
    return Line(where=_where(event), what="agent started", mood=Mood.START, begins=key)


@event_lines.register
def _(event: events.LiteAgentExecutionCompletedEvent) -> Line:
    key = ("agent", event.agent_id, event.agent_role)
    return Line(where=_where(event), what="agent completed", body=event.output, mood=Mood.GOOD, ends=key)


@event_lines.register
def _(event: events.LiteAgentExecutionErrorEvent) -> Line:
    key = ("agent", event.agent_id, event.agent_role)
    return Line(where=_where(event), what="agent failed", text=event.error, mood=Mood.BAD, ends=key)


@event_lines.register
def _(event: events.AgentStepEvent) -> Line | None:
    thought = event.step if isinstance(event.step, str) else part(event.step, "thought")
    if not thought:
        return None
    return Line(where=_where(event), what=f"thought {event.iteration}", text=str(thought))


@event_lines.register
def _(event: events.AgentReasoningCompletedEvent) -> Line:
    what = "plan" if event.ready else f"plan not ready (attempt {event.attempt})"
    return Line(where=_where(event), what=what, text=event.plan)


@event_lines.register
def _(event: events.AgentReasoningFailedEvent) -> Line:
    return Line(where=_where(event), what="planning failed", text=event.error, mood=Mood.WARNING)


# Models, tools and guardrails


@event_lines.register
def _(event: events.LLMCallDelayedEvent) -> Line:
    rpm = f"no minute is to see more than max_rpm={event.max_rpm}"
    why = "its provider asks for it (Retry-After)" if event.max_rpm is None else rpm
    return Line(where=_where(event), what="model call waits", text=f"{event.seconds:.1f} s, for {why}")


@event_lines.register
def _(event: events.LLMFallbackEvent) -> Line:
    text = f"{event.fallback} is asked in place of {event.model}: {event.error}"
    return Line(where=_where(event), what="model replaced", text=text, mood=Mood.WARNING)


@event_lines.register
def _(event: events.LLMCallFailedEvent) -> Line:
    return Line(where=_where(event), what="model call failed", text=event.error, mood=Mood.BAD)


@event_lines.register
def _(event: events.ToolUsageStartedEvent) -> Line:
    text = f"{event.tool_name}({arguments(event.tool_args)})"
    return Line(where=_where(event), what="tool call", text=text, limit=_SHORT)


@event_lines.register
def _(event: events.ToolUsageFinishedEvent) -> Line:
    what = f"tool {event.tool_name} answered" + (" from cache" if event.from_cache else "")
    took = None if event.from_cache else event.finished_at - event.started_at
    return Line(where=_where(event), what=what, text=said(event.output), took=took)


@event_lines.register
def _(
    event: events.ToolUsageErrorEvent
    | events.ToolSelectionErrorEvent
    | events.ToolValidateInputErrorEvent
    | events.ToolExecutionErrorEvent,
) -> Line:
    what = f"tool {event.tool_name} failed"
    return Line(where=_where(event), what=what, text=str(brief(event.error)), mood=Mood.WARNING)


@event_lines.register
def _(event: events.LLMGuardrailCompletedEvent) -> Line | None:
    attempts = _attempts(event)
    if not event.success:
        what = f"guardrail blocked ({attempts})"
        return Line(where=_where(event), what=what, text=event.error or "", mood=Mood.WARNING)
    return Line(where=_where(event), what=f"guardrail passed ({attempts})") if event.retry_count else None


@event_lines.register
def _(event: events.LLMGuardrailFailedEvent) -> Line:
    what = f"guardrail failed ({_attempts(event)})"
    return Line(where=_where(event), what=what, text=event.error, mood=Mood.BAD)


def _attempts(event: events.LLMGuardrailCompletedEvent | events.LLMGuardrailFailedEvent) -> str:
    retries = getattr(event.from_task, "guardrail_max_retries", None)
    return f"attempt {event.retry_count + 1}" + (f"/{retries + 1}" if isinstance(retries, int) else "")


@event_lines.register
def _(event: events.HumanInputRequestedEvent) -> Line:
    if event.tool_name is not None:
        text = f"may it call {event.tool_name}({arguments(event.tool_args)})?"
        return Line(where=_where(event), what="asks a person", text=text, mood=Mood.WARNING)
    return Line(where=_where(event), what="asks a person", body=event.output or event.message, mood=Mood.WARNING)


@event_lines.register
def _(event: events.HumanInputReceivedEvent) -> Line:
    answer = said(event.answer)
    if event.tool_name is None:
        answer = {"": "accepted", "true": "accepted"}.get(answer.strip(), answer)
    return Line(where=_where(event), what="a person says", text=answer)


# Memory and knowledge: what an agent is told of them, and what goes wrong


@event_lines.register
def _(event: events.MemoryRetrievalCompletedEvent) -> Line | None:
    if not event.memory_content:
        return None
    took = timedelta(milliseconds=event.retrieval_time_ms)
    return Line(where=_where(event), what="remembers", text=event.memory_content, took=took)


@event_lines.register
def _(event: events.KnowledgeRetrievalCompletedEvent) -> Line | None:
    if not event.retrieved_knowledge:
        return None
    return Line(where=_where(event), what="looked up", text=event.retrieved_knowledge)


@event_lines.register
def _(event: events.MemorySaveFailedEvent | events.MemoryQueryFailedEvent) -> Line:
    return Line(where=_where(event), what="memory failed", text=event.error, mood=Mood.WARNING)


@event_lines.register
def _(event: events.KnowledgeQueryFailedEvent | events.KnowledgeSearchQueryFailedEvent) -> Line:
    return Line(where=_where(event), what="knowledge failed", text=event.error, mood=Mood.WARNING)


# Flows


@event_lines.register
def _(event: events.FlowStartedEvent) -> Line:
    inputs = arguments(event.inputs) if event.inputs else ""
    key = ("flow", event.flow_name)
    return Line(where=event.flow_name, what="flow started", text=inputs, mood=Mood.START, begins=key)


@event_lines.register
def _(event: events.FlowFinishedEvent) -> Line:
    body = "" if event.result is None else said(event.result)
    key = ("flow", event.flow_name)
    return Line(where=event.flow_name, what="flow finished", body=body, mood=Mood.GOOD, ends=key)


@event_lines.register
def _(event: events.FlowFailedEvent) -> Line:
    text = f"{type(event.error).__name__}: {event.error}"
    return Line(where=event.flow_name, what="flow failed", text=text, mood=Mood.BAD, ends=("flow", event.flow_name))


@event_lines.register
def _(event: events.FlowPausedEvent) -> Line:
    text = f"resume({event.flow_id!r}, ...)"
    key = ("flow", event.flow_name)
    return Line(where=event.flow_name, what="flow waits for an answer", text=text, mood=Mood.WARNING, ends=key)


def _method(event: Any, what: str, **more: Any) -> Line:
    return Line(where=f"{event.flow_name}.{event.method_name}", what=what, **more)


@event_lines.register
def _(event: events.MethodExecutionStartedEvent) -> Line:
    return _method(event, "method started", begins=("method", event.flow_name, event.method_name))


@event_lines.register
def _(event: events.MethodExecutionFinishedEvent) -> Line:
    text = "" if event.result is None else said(event.result)
    return _method(event, "method finished", text=text, ends=("method", event.flow_name, event.method_name))


@event_lines.register
def _(event: events.MethodExecutionFailedEvent) -> Line:
    key = ("method", event.flow_name, event.method_name)
    return _method(event, "method failed", text=str(brief(event.error)), mood=Mood.BAD, ends=key)


@event_lines.register
def _(event: events.MethodExecutionPausedEvent) -> Line:
    key = ("method", event.flow_name, event.method_name)
    text = f"{event.message} ({', '.join(event.emit)})" if event.emit else event.message
    return _method(event, "method waits for an answer", text=text, mood=Mood.WARNING, ends=key)


@event_lines.register
def _(event: events.FlowInputReceivedEvent) -> Line:
    return _method(event, "answer received", text=event.response or "")


@event_lines.register
def _(event: events.HumanFeedbackReceivedEvent) -> Line:
    text = f"{event.feedback} ({event.outcome})" if event.outcome else event.feedback
    return _method(event, "answer received", text=text)


def elided(text: str, limit: int) -> str:
    """A name on one line, at most `limit` characters long."""
    name = " ".join(legible(text).split())
    return name if len(name) <= limit else f"{name[: limit - 3].rstrip()}..."


def excerpt(text: str, limit: int) -> str:
    """The text on one line; what goes beyond `limit` characters is cut, and it says how much that is."""
    return _cut(" ".join(legible(text).split()), limit)


def passage(text: str, limit: int) -> str:
    """The text with its lines; what goes beyond `limit` characters is cut, and it says how much that is."""
    return _cut("\n".join(line.rstrip() for line in legible(text).strip().splitlines()), limit)


def legible(text: str) -> str:
    r"""The text with its control characters shown (`\x1b`) in place of obeyed, but for tabs and line ends.

    What a model or a tool writes could else move the cursor, rewrite lines or turn text around.
    """
    if text.isprintable():
        return text
    return "".join(_shown(one) for one in text.replace("\r\n", "\n"))


def _shown(one: str) -> str:
    if one in "\n\t" or unicodedata.category(one) not in {"Cc", "Cs"} and one not in _TURNS:
        return one
    return one.encode("unicode_escape", "backslashreplace").decode("ascii")


def _cut(text: str, limit: int) -> str:
    rest = len(text) - limit
    return text if rest <= 0 else f"{text[:limit].rstrip()} ... [+{rest:,} characters]"


_TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # they change the direction of writing
