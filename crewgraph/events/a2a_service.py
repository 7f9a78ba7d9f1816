"""How agents find each other and serve each other, as CrewAI's listeners know it; nothing here emits it."""

from typing import Any

from crewgraph.events.a2a_base import AboutAddress, AboutContext

__all__ = [
    "A2AAgentCardFetchedEvent",
    "A2AAuthenticationFailedEvent",
    "A2AConnectionErrorEvent",
    "A2AContentTypeNegotiatedEvent",
    "A2AContextCompletedEvent",
    "A2AContextCreatedEvent",
    "A2AContextExpiredEvent",
    "A2AContextIdleEvent",
    "A2AContextPrunedEvent",
    "A2AServerTaskCanceledEvent",
    "A2AServerTaskCompletedEvent",
    "A2AServerTaskFailedEvent",
    "A2AServerTaskStartedEvent",
    "A2ATransportNegotiatedEvent",
]


class A2AAgentCardFetchedEvent(AboutAddress):
    """A remote agent has said what it is."""

    type: str = "a2a_agent_card_fetched"

    agent_card: dict[str, Any] | None = None
    """What the remote agent says of itself."""

    protocol_version: str | None = None
    """The version of the protocol."""

    provider: dict[str, Any] | None = None
    """Who offers the remote agent."""

    cached: bool = False
    """Whether it was known before."""

    fetch_time_ms: float | None = None
    """How long it took, in milliseconds."""


class A2AAuthenticationFailedEvent(AboutAddress):
    """A remote agent did not let somebody in."""

    type: str = "a2a_authentication_failed"

    auth_type: str | None = None
    """The way of signing in."""

    error: str
    """What went wrong."""

    status_code: int | None = None
    """The HTTP status."""

    protocol_version: str | None = None
    """The version of the protocol."""


class A2AConnectionErrorEvent(AboutAddress):
    """A remote agent cannot be reached."""

    type: str = "a2a_connection_error"

    error: str
    """What went wrong."""

    error_type: str | None = None
    """The class of the failure."""

    status_code: int | None = None
    """The HTTP status."""

    operation: str | None = None
    """What was tried."""

    context_id: str | None = None
    """The conversation."""


class A2AContentTypeNegotiatedEvent(AboutAddress):
    """Client and server agree on content types."""

    type: str = "a2a_content_type_negotiated"

    skill_name: str | None = None
    """The skill."""

    client_input_modes: list[str]
    """The content types that the client sends."""

    client_output_modes: list[str]
    """The content types that the client takes."""

    server_input_modes: list[str]
    """The content types that the server takes."""

    server_output_modes: list[str]
    """The content types that the server sends."""

    negotiated_input_modes: list[str]
    """The content types that are sent."""

    negotiated_output_modes: list[str]
    """The content types that come back."""

    negotiation_success: bool = True
    """Whether both sides agree."""


class A2AContextCompletedEvent(AboutContext):
    """All tasks of a context are done."""

    type: str = "a2a_context_completed"

    total_tasks: int
    """How many tasks it had."""

    duration_seconds: float
    """How long it took, in seconds."""


class A2AContextCreatedEvent(AboutContext):
    """A context of conversations begins."""

    type: str = "a2a_context_created"

    created_at: float
    """When it began, in seconds since 1970."""


class A2AContextExpiredEvent(AboutContext):
    """A context is too old."""

    type: str = "a2a_context_expired"

    created_at: float
    """When it began, in seconds since 1970."""

    age_seconds: float
    """How old the context is, in seconds."""

    task_count: int
    """How many tasks it has."""


class A2AContextIdleEvent(AboutContext):
    """Nothing has happened in a context for long."""

    type: str = "a2a_context_idle"

    idle_seconds: float
    """How long nothing has happened, in seconds."""

    task_count: int
    """How many tasks it has."""


class A2AContextPrunedEvent(AboutContext):
    """A context was removed."""

    type: str = "a2a_context_pruned"

    task_count: int
    """How many tasks it has."""

    age_seconds: float
    """How old the context is, in seconds."""


class A2AServerTaskCanceledEvent(AboutContext):
    """A task for somebody else was called off."""

    type: str = "a2a_server_task_canceled"


class A2AServerTaskCompletedEvent(AboutContext):
    """A task for somebody else is done."""

    type: str = "a2a_server_task_completed"

    result: str
    """What came of it."""


class A2AServerTaskFailedEvent(AboutContext):
    """A task for somebody else has failed."""

    type: str = "a2a_server_task_failed"

    error: str
    """What went wrong."""


class A2AServerTaskStartedEvent(AboutContext):
    """A task for somebody else begins."""

    type: str = "a2a_server_task_started"


class A2ATransportNegotiatedEvent(AboutAddress):
    """Client and server agree on a transport."""

    type: str = "a2a_transport_negotiated"

    negotiated_transport: str
    """The transport that is used."""

    negotiated_url: str
    """The address that is used."""

    source: str
    """Who decided."""

    client_supported_transports: list[str]
    """The transports that the client knows."""

    server_supported_transports: list[str]
    """The transports that the server knows."""

    server_preferred_transport: str
    """The transport that the server prefers."""

    client_preferred_transport: str | None = None
    """The transport that the client prefers."""
