"""Events of remote agents (A2A): conversations, messages and answers."""

from collections.abc import Mapping
from typing import Any, Literal

from crewgraph.events.base import WorkEvent
from crewgraph.events.bus import crewai_event_bus
from crewgraph.schema import Metadata, PlainDict

EventFields = Mapping[str, Any]
"""Fields shared by all events of a message: endpoint, a2a_agent_name, from_agent, from_task, turn_number and the like."""


class A2AEventBase(WorkEvent):
    """An event of remote agents."""


class WithMetadata(A2AEventBase):
    """An event with additional metadata."""

    metadata: Metadata | None = None
    """Additional metadata."""


class AboutAgent(WithMetadata):
    """An event of a remote agent."""

    a2a_agent_name: str | None = None
    """The name of the remote agent."""


class AboutAddress(AboutAgent):
    """An event of a remote agent at an endpoint."""

    endpoint: str
    """The address of the remote agent."""


class AboutConversation(AboutAgent):
    """An event of a conversation with a remote agent."""

    endpoint: str | None = None
    """The address of the remote agent."""

    context_id: str | None = None
    """The conversation."""


class AboutExchange(WithMetadata):
    """An event of an exchange that extensions of the protocol may shape."""

    extensions: list[str] | None = None
    """The extensions of the protocol that are in use."""


class AboutTurn(AboutExchange):
    """An event of one of the messages of an exchange."""

    is_multiturn: bool = False
    """Whether the conversation has several turns."""


class A2AConversationCompletedEvent(AboutConversation, AboutExchange):
    """A conversation with a remote agent has ended."""

    type: str = "a2a_conversation_completed"

    status: Literal["completed", "failed"]
    """How it ended."""

    final_result: str | None = None
    """The result."""

    error: str | None = None
    """The error."""

    total_turns: int
    """The number of messages."""

    agent_card: PlainDict | None = None
    """The card of the remote agent."""

    reference_task_ids: list[str] | None = None
    """Tasks that it refers to."""


class A2AConversationStartedEvent(AboutAddress, AboutExchange):
    """A conversation with a remote agent starts."""

    type: str = "a2a_conversation_started"

    context_id: str | None = None
    """The conversation."""

    agent_card: PlainDict | None = None
    """The card of the remote agent."""

    protocol_version: str | None = None
    """The version of the protocol."""

    provider: PlainDict | None = None
    """The provider of the remote agent."""

    skill_id: str | None = None
    """The requested skill of the remote agent."""

    reference_task_ids: list[str] | None = None
    """Tasks that it refers to."""


class A2ADelegationCompletedEvent(AboutConversation, AboutTurn):
    """A remote agent has completed or failed its work."""

    type: str = "a2a_delegation_completed"

    status: str
    """How it ended."""

    result: str | None = None
    """The result."""

    error: str | None = None
    """The error."""

    agent_card: PlainDict | None = None
    """The card of the remote agent."""

    provider: PlainDict | None = None
    """The provider of the remote agent."""


class A2ADelegationStartedEvent(AboutAddress, AboutTurn):
    """Work is delegated to a remote agent."""

    type: str = "a2a_delegation_started"

    task_description: str
    """The task description."""

    context_id: str | None = None
    """The conversation."""

    turn_number: int = 1
    """The number of the message, from 1."""

    agent_card: PlainDict | None = None
    """The card of the remote agent."""

    protocol_version: str | None = None
    """The version of the protocol."""

    provider: PlainDict | None = None
    """The provider of the remote agent."""

    skill_id: str | None = None
    """The requested skill of the remote agent."""


class A2AMessageSentEvent(AboutConversation, AboutTurn):
    """A message is sent to a remote agent."""

    type: str = "a2a_message_sent"

    message: str
    """The text of the message."""

    turn_number: int
    """The number of the message, from 1."""

    message_id: str | None = None
    """The message."""

    skill_id: str | None = None
    """The requested skill of the remote agent."""


class A2AResponseReceivedEvent(AboutConversation, AboutTurn):
    """A remote agent has answered."""

    type: str = "a2a_response_received"

    response: str
    """The text of the answer."""

    turn_number: int
    """The number of the message, from 1."""

    message_id: str | None = None
    """The message."""

    status: str
    """How it ended."""

    final: bool = False
    """Whether it is the last one."""


class A2AStreamingChunkEvent(AboutConversation, AboutTurn):
    """A chunk of a remote agent's answer has arrived."""

    type: str = "a2a_streaming_chunk"

    chunk: str
    """The chunk."""

    chunk_index: int
    """The index of the chunk, from 0."""

    final: bool = False
    """Whether it is the last one."""

    turn_number: int = 1
    """The number of the message, from 1."""


def emit_a2a_event(source: object, event: type[A2AEventBase], fields: EventFields, **more: Any) -> None:
    """Emit an event if anything listens for its type; fields that the event class lacks are dropped."""
    if crewai_event_bus.wants(event):
        known = {name: value for name, value in fields.items() if name in event.model_fields}
        crewai_event_bus.emit(source, event(**{**known, **more}))
