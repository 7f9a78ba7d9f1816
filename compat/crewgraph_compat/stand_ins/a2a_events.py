"""A2A events that CrewAI listeners may name. Nothing here emits them, since crewgraph does not serve agents."""

from crewgraph.events.a2a import A2AEventBase, AboutAddress, WithMetadata

__all__ = [
    "A2AContentTypeNegotiatedEvent",
    "A2AContextCompletedEvent",
    "A2AContextCreatedEvent",
    "A2AContextExpiredEvent",
    "A2AContextIdleEvent",
    "A2AContextPrunedEvent",
    "A2AParallelDelegationCompletedEvent",
    "A2AParallelDelegationStartedEvent",
    "A2APushNotificationSentEvent",
    "A2AServerTaskCanceledEvent",
    "A2AServerTaskCompletedEvent",
    "A2AServerTaskFailedEvent",
    "A2AServerTaskStartedEvent",
    "A2ATransportNegotiatedEvent",
]


class _AboutContext(WithMetadata):
    """Base class of events about a conversation held by a server."""

    context_id: str
    """The id of the conversation."""


class A2AParallelDelegationCompletedEvent(A2AEventBase):
    """Several remote agents have finished."""

    type: str = "a2a_parallel_delegation_completed"

    endpoints: list[str]
    """The addresses of the remote agents."""

    success_count: int
    """The number of agents that succeeded."""

    failure_count: int
    """The number of agents that failed."""

    results: dict[str, str] | None = None
    """The results by agent address."""


class A2AParallelDelegationStartedEvent(A2AEventBase):
    """Work is delegated to several remote agents."""

    type: str = "a2a_parallel_delegation_started"

    endpoints: list[str]
    """The addresses of the remote agents."""

    task_description: str
    """The task description."""


class A2APushNotificationSentEvent(WithMetadata):
    """A client was notified of the progress of its task."""

    type: str = "a2a_push_notification_sent"

    context_id: str | None = None
    """The id of the conversation."""

    callback_url: str
    """The URL that receives the notification."""

    state: str
    """The state of the task."""

    success: bool = True
    """Whether the notification was delivered."""

    error: str | None = None
    """The error message."""


class A2AContentTypeNegotiatedEvent(AboutAddress):
    """Client and server have agreed on content types."""

    type: str = "a2a_content_type_negotiated"

    skill_name: str | None = None
    """The skill."""

    client_input_modes: list[str]
    """The content types that the client sends."""

    client_output_modes: list[str]
    """The content types that the client accepts."""

    server_input_modes: list[str]
    """The content types that the server accepts."""

    server_output_modes: list[str]
    """The content types that the server sends."""

    negotiated_input_modes: list[str]
    """The negotiated input content types."""

    negotiated_output_modes: list[str]
    """The negotiated output content types."""

    negotiation_success: bool = True
    """Whether both sides agree."""


class A2AContextCompletedEvent(_AboutContext):
    """All tasks of a context have finished."""

    type: str = "a2a_context_completed"

    total_tasks: int
    """The number of tasks in the context."""

    duration_seconds: float
    """The duration in seconds."""


class A2AContextCreatedEvent(_AboutContext):
    """A conversation context was created."""

    type: str = "a2a_context_created"

    created_at: float
    """The creation time in seconds since the epoch."""


class A2AContextExpiredEvent(_AboutContext):
    """A context has expired."""

    type: str = "a2a_context_expired"

    created_at: float
    """The creation time in seconds since the epoch."""

    age_seconds: float
    """The age of the context in seconds."""

    task_count: int
    """The number of tasks in the context."""


class A2AContextIdleEvent(_AboutContext):
    """A context has been idle for a long time."""

    type: str = "a2a_context_idle"

    idle_seconds: float
    """The idle time in seconds."""

    task_count: int
    """The number of tasks in the context."""


class A2AContextPrunedEvent(_AboutContext):
    """A context was removed."""

    type: str = "a2a_context_pruned"

    task_count: int
    """The number of tasks in the context."""

    age_seconds: float
    """The age of the context in seconds."""


class A2AServerTaskCanceledEvent(_AboutContext):
    """A task of a remote client was canceled."""

    type: str = "a2a_server_task_canceled"


class A2AServerTaskCompletedEvent(_AboutContext):
    """A task of a remote client has finished."""

    type: str = "a2a_server_task_completed"

    result: str
    """The result."""


class A2AServerTaskFailedEvent(_AboutContext):
    """A task of a remote client has failed."""

    type: str = "a2a_server_task_failed"

    error: str
    """The error message."""


class A2AServerTaskStartedEvent(_AboutContext):
    """A task of a remote client has started."""

    type: str = "a2a_server_task_started"


class A2ATransportNegotiatedEvent(AboutAddress):
    """Client and server have agreed on a transport."""

    type: str = "a2a_transport_negotiated"

    negotiated_transport: str
    """The negotiated transport."""

    negotiated_url: str
    """The negotiated URL."""

    source: str
    """Which side made the choice."""

    client_supported_transports: list[str]
    """The transports that the client supports."""

    server_supported_transports: list[str]
    """The transports that the server supports."""

    server_preferred_transport: str
    """The transport preferred by the server."""

    client_preferred_transport: str | None = None
    """The transport preferred by the client."""
