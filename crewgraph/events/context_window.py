"""Conversations that are too long for their models."""

from typing import Any

from crewgraph.events.base import BaseEvent

__all__ = [
    "ContextWindowSummarizationCompletedEvent",
    "ContextWindowSummarizationEvent",
    "ContextWindowSummarizationFailedEvent",
    "ContextWindowSummarizationStartedEvent",
]


class ContextWindowSummarizationEvent(BaseEvent):
    """Something that happened when a conversation was too long for its model."""

    from_task: Any = None
    """The task that it belongs to."""

    from_agent: Any = None
    """The agent that it belongs to."""

    model: str | None = None
    """The model."""


class ContextWindowSummarizationCompletedEvent(ContextWindowSummarizationEvent):
    """A conversation was summarised."""

    type: str = "context_window_summarization_completed"


class ContextWindowSummarizationFailedEvent(ContextWindowSummarizationEvent):
    """A conversation could not be summarised."""

    type: str = "context_window_summarization_failed"

    error: str
    """What went wrong."""


class ContextWindowSummarizationStartedEvent(ContextWindowSummarizationEvent):
    """A conversation is about to be summarised."""

    type: str = "context_window_summarization_started"
