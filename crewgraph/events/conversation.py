"""What happens in flows that are conversations."""

from typing import Any, Literal

from crewgraph.events.flow import FlowEvent

__all__ = [
    "ConversationMessageAddedEvent",
    "ConversationRouteSelectedEvent",
    "ConversationTurnCompletedEvent",
    "ConversationTurnFailedEvent",
    "ConversationTurnStartedEvent",
]


class ConversationMessageAddedEvent(FlowEvent):
    """A message was added to a conversation."""

    type: str = "conversation_message_added"

    session_id: str
    """The conversation."""

    role: Literal["user", "assistant", "system", "tool"]
    """Who said it."""

    content: Any
    """What was said."""

    message_index: int
    """The place of the message, from 0."""


class ConversationRouteSelectedEvent(FlowEvent):
    """A way was chosen for a message."""

    type: str = "conversation_route_selected"

    session_id: str
    """The conversation."""

    route: str
    """The way that was taken."""

    user_message: str | None = None
    """What the user said."""

    message_index: int | None = None
    """The place of the message, from 0."""

    previous_intent: str | None = None
    """The way before."""


class ConversationTurnCompletedEvent(FlowEvent):
    """A message of the user is answered."""

    type: str = "conversation_turn_completed"

    session_id: str
    """The conversation."""


class ConversationTurnFailedEvent(FlowEvent):
    """A message of the user could not be answered."""

    type: str = "conversation_turn_failed"

    session_id: str
    """The conversation."""

    error: Any
    """What went wrong."""


class ConversationTurnStartedEvent(FlowEvent):
    """A message of the user is worked on."""

    type: str = "conversation_turn_started"

    session_id: str
    """The conversation."""
