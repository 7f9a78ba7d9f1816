"""What happens while an agent plans before it works."""

from typing import Any

from crewgraph.events.base import BaseEvent

__all__ = [
    "AgentReasoningCompletedEvent",
    "AgentReasoningFailedEvent",
    "AgentReasoningStartedEvent",
    "ReasoningEvent",
]


class ReasoningEvent(BaseEvent):
    """Something that happened while an agent planned."""

    attempt: int = 1
    """Which try it is, from 1."""

    from_task: Any = None
    """The task that is planned."""

    from_agent: Any = None
    """The agent that plans."""


class AgentReasoningStartedEvent(ReasoningEvent):
    """An agent begins to plan."""

    type: str = "agent_reasoning_started"


class AgentReasoningCompletedEvent(ReasoningEvent):
    """An agent has a plan."""

    type: str = "agent_reasoning_completed"

    plan: str
    """The plan."""

    ready: bool
    """Whether the agent finds it good enough to begin."""


class AgentReasoningFailedEvent(ReasoningEvent):
    """An agent could not plan."""

    type: str = "agent_reasoning_failed"

    error: str
    """What went wrong."""
