"""What the events of agents elsewhere have in common."""

from typing import Any

from crewgraph.events.base import BaseEvent

__all__ = [
    "A2AEventBase",
    "AboutAddress",
    "AboutAgent",
    "AboutContext",
    "AboutConversation",
    "AboutExchange",
    "AboutTurn",
    "WithMetadata",
]


class A2AEventBase(BaseEvent):
    """Something that happened with an agent elsewhere."""

    from_task: Any = None
    """The task that it belongs to."""

    from_agent: Any = None
    """The agent that it belongs to."""


class WithMetadata(A2AEventBase):
    """An event with room for more."""

    metadata: dict[str, Any] | None = None
    """What else is known."""


class AboutContext(WithMetadata):
    """An event of a conversation that a server keeps."""

    context_id: str
    """The conversation."""


class AboutAgent(WithMetadata):
    """An event of an agent elsewhere."""

    a2a_agent_name: str | None = None
    """The name of the remote agent."""


class AboutAddress(AboutAgent):
    """An event of an agent elsewhere that is reached at an address."""

    endpoint: str
    """The address of the remote agent."""


class AboutConversation(AboutAgent):
    """An event of a conversation with an agent elsewhere."""

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
    """Whether more than one message is exchanged."""
