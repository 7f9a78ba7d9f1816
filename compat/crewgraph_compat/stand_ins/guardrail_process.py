"""Guardrails carried out and written down by hand."""

import logging
from typing import Any, cast

from crewgraph.definitions.task.guardrail import GuardrailResult
from crewgraph.events import (
    LLMGuardrailCompletedEvent,
    LLMGuardrailFailedEvent,
    LLMGuardrailStartedEvent,
    crewai_event_bus,
)

__all__ = ["process_guardrail", "serialize_guardrail_for_json", "serialize_guardrails_for_json"]

_log = logging.getLogger("crewgraph")


def process_guardrail(
    output: Any,
    guardrail: Any,
    retry_count: int,
    event_source: Any = None,
    from_agent: Any = None,
    from_task: Any = None,
) -> GuardrailResult:
    """What a guardrail says of an output; tasks do it by themselves.

    Args:
        output: the output of a task, or of an agent's kickoff.
        guardrail: the function.
        retry_count: how often it has refused so far, for events.
        event_source: who the events are from.
        from_agent: whose output it is, for events.
        from_task: of which task, for events.

    Raises:
        TypeError: it returned no pair.
        Exception: whatever the guardrail raised.
    """
    about: dict[str, Any] = {"retry_count": retry_count, "from_agent": from_agent, "from_task": from_task}
    crewai_event_bus.emit(event_source, LLMGuardrailStartedEvent(guardrail=guardrail, **about))
    try:
        result = GuardrailResult.from_tuple(guardrail(output))
    except Exception as error:
        crewai_event_bus.emit(event_source, LLMGuardrailFailedEvent(error=str(error), **about))
        raise
    told = LLMGuardrailCompletedEvent(success=result.success, result=result.result, error=result.error, **about)
    crewai_event_bus.emit(event_source, told)
    return result


def serialize_guardrail_for_json(value: Any, field_name: str = "guardrail") -> str | None:
    """A guardrail as JSON: a text itself; a function is left out, and told."""
    if isinstance(value, str):
        return value
    if callable(value):
        _log.warning("`%s` is a function, which JSON cannot hold: it is left out", field_name)
    return None


def serialize_guardrails_for_json(value: Any, field_name: str = "guardrails") -> list[str] | str | None:
    """One or several guardrails as JSON; functions are left out, and told."""
    if isinstance(value, (list, tuple)):
        several = cast("list[Any]", value)
        each = (serialize_guardrail_for_json(one, field_name) for one in several)
        return [one for one in each if one is not None]
    return serialize_guardrail_for_json(value, field_name)
