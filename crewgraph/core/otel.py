"""Spans of OpenTelemetry that user code opens inside a run of the trace: below the span of that run.

OpenInference's handler makes a span for each run, and does not make it the current one: callbacks may end on another thread. Here
the context of the work is known, and thrown away after it.
"""

import sys
from collections.abc import Iterable
from contextvars import Context
from typing import TYPE_CHECKING, Any
from uuid import UUID

from crewgraph.extras import load

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig


def enter_span_of_run(context: Context, handlers: Iterable[Any], run_id: UUID | None) -> None:
    """Make the span that a handler has for a run the current one in a context, if any has one.

    Args:
        context: the context of the work, which is used for nothing else.
        handlers: the callback handlers of the run.
        run_id: the run.
    """
    if run_id is not None and "opentelemetry.context" in sys.modules:
        span = _span_of(handlers, run_id)
        if span is not None:
            context.run(_attach_span, span)


def enter_span_of_config(config: "RunnableConfig") -> None:
    """Make the span of the run that a config is given below the current one, in the running context."""
    callbacks: Any = config.get("callbacks")
    run_id: UUID | None = getattr(callbacks, "parent_run_id", None)
    if run_id is not None and "opentelemetry.context" in sys.modules:
        span = _span_of(callbacks.handlers, run_id)
        if span is not None:
            _attach_span(span)


def _span_of(handlers: Iterable[Any], run_id: UUID) -> object:
    """Return the span of the first handler that has one for the run."""
    for handler in handlers:
        get_span = getattr(handler, "get_span", None)
        if callable(get_span) and (span := get_span(run_id)) is not None:
            return span
    return None


def _attach_span(span: object) -> None:
    context = load("opentelemetry.trace").set_span_in_context(span)
    load("opentelemetry.context").attach(context)
