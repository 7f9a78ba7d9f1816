"""Work that is handed to agents elsewhere."""

from typing import Any, Literal

from crewgraph.events.a2a_base import A2AEventBase, AboutAddress, AboutConversation, AboutExchange, AboutTurn

__all__ = [
    "A2AConversationCompletedEvent",
    "A2AConversationStartedEvent",
    "A2ADelegationCompletedEvent",
    "A2ADelegationStartedEvent",
    "A2AMessageSentEvent",
    "A2AParallelDelegationCompletedEvent",
    "A2AParallelDelegationStartedEvent",
    "A2AResponseReceivedEvent",
]


class A2AConversationCompletedEvent(AboutConversation, AboutExchange):
    """A conversation with a remote agent is over."""

    type: str = "a2a_conversation_completed"

    status: Literal["completed", "failed"]
    """How it ended."""

    final_result: str | None = None
    """What came of it."""

    error: str | None = None
    """What went wrong."""

    total_turns: int
    """How many messages it had."""

    agent_card: dict[str, Any] | None = None
    """What the remote agent says of itself."""

    reference_task_ids: list[str] | None = None
    """Tasks that it refers to."""


class A2AConversationStartedEvent(AboutAddress, AboutExchange):
    """A conversation with a remote agent begins."""

    type: str = "a2a_conversation_started"

    context_id: str | None = None
    """The conversation."""

    agent_card: dict[str, Any] | None = None
    """What the remote agent says of itself."""

    protocol_version: str | None = None
    """The version of the protocol."""

    provider: dict[str, Any] | None = None
    """Who offers the remote agent."""

    skill_id: str | None = None
    """The skill of the remote agent that is asked for."""

    reference_task_ids: list[str] | None = None
    """Tasks that it refers to."""


class A2ADelegationCompletedEvent(AboutConversation, AboutTurn):
    """A remote agent is done, or has failed."""

    type: str = "a2a_delegation_completed"

    status: str
    """How it ended."""

    result: str | None = None
    """What came of it."""

    error: str | None = None
    """What went wrong."""

    agent_card: dict[str, Any] | None = None
    """What the remote agent says of itself."""

    provider: dict[str, Any] | None = None
    """Who offers the remote agent."""


class A2ADelegationStartedEvent(AboutAddress, AboutTurn):
    """Work is handed to a remote agent."""

    type: str = "a2a_delegation_started"

    task_description: str
    """What is to be done."""

    context_id: str | None = None
    """The conversation."""

    turn_number: int = 1
    """Which message it is, from 1."""

    agent_card: dict[str, Any] | None = None
    """What the remote agent says of itself."""

    protocol_version: str | None = None
    """The version of the protocol."""

    provider: dict[str, Any] | None = None
    """Who offers the remote agent."""

    skill_id: str | None = None
    """The skill of the remote agent that is asked for."""


class A2AMessageSentEvent(AboutConversation, AboutTurn):
    """A message goes to a remote agent."""

    type: str = "a2a_message_sent"

    message: str
    """What was said."""

    turn_number: int
    """Which message it is, from 1."""

    message_id: str | None = None
    """The message."""

    skill_id: str | None = None
    """The skill of the remote agent that is asked for."""


class A2AParallelDelegationCompletedEvent(A2AEventBase):
    """Several remote agents are done."""

    type: str = "a2a_parallel_delegation_completed"

    endpoints: list[str]
    """The addresses of the remote agents."""

    success_count: int
    """How many worked."""

    failure_count: int
    """How many failed."""

    results: dict[str, str] | None = None
    """What came of each, by address."""


class A2AParallelDelegationStartedEvent(A2AEventBase):
    """Work is handed to several remote agents."""

    type: str = "a2a_parallel_delegation_started"

    endpoints: list[str]
    """The addresses of the remote agents."""

    task_description: str
    """What is to be done."""


class A2AResponseReceivedEvent(AboutConversation, AboutTurn):
    """A remote agent has answered."""

    type: str = "a2a_response_received"

    response: str
    """What was answered."""

    turn_number: int
    """Which message it is, from 1."""

    message_id: str | None = None
    """The message."""

    status: str
    """How it ended."""

    final: bool = False
    """Whether it is the last one."""
