"""Events of agents elsewhere that CrewAI's listeners may name, and that nothing here emits: crewgraph serves nobody."""

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
    """An event of a conversation that a server keeps."""

    context_id: str
    """The conversation."""


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


class A2APushNotificationSentEvent(WithMetadata):
    """A client was told of the progress of its task."""

    type: str = "a2a_push_notification_sent"

    context_id: str | None = None
    """The conversation."""

    callback_url: str
    """Where the remote agent tells of its progress."""

    state: str
    """How far it is."""

    success: bool = True
    """Whether it worked."""

    error: str | None = None
    """What went wrong."""


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


class A2AContextCompletedEvent(_AboutContext):
    """All tasks of a context are done."""

    type: str = "a2a_context_completed"

    total_tasks: int
    """How many tasks it had."""

    duration_seconds: float
    """How long it took, in seconds."""


class A2AContextCreatedEvent(_AboutContext):
    """A context of conversations begins."""

    type: str = "a2a_context_created"

    created_at: float
    """When it began, in seconds since 1970."""


class A2AContextExpiredEvent(_AboutContext):
    """A context is too old."""

    type: str = "a2a_context_expired"

    created_at: float
    """When it began, in seconds since 1970."""

    age_seconds: float
    """How old the context is, in seconds."""

    task_count: int
    """How many tasks it has."""


class A2AContextIdleEvent(_AboutContext):
    """Nothing has happened in a context for long."""

    type: str = "a2a_context_idle"

    idle_seconds: float
    """How long nothing has happened, in seconds."""

    task_count: int
    """How many tasks it has."""


class A2AContextPrunedEvent(_AboutContext):
    """A context was removed."""

    type: str = "a2a_context_pruned"

    task_count: int
    """How many tasks it has."""

    age_seconds: float
    """How old the context is, in seconds."""


class A2AServerTaskCanceledEvent(_AboutContext):
    """A task for somebody else was called off."""

    type: str = "a2a_server_task_canceled"


class A2AServerTaskCompletedEvent(_AboutContext):
    """A task for somebody else is done."""

    type: str = "a2a_server_task_completed"

    result: str
    """What came of it."""


class A2AServerTaskFailedEvent(_AboutContext):
    """A task for somebody else has failed."""

    type: str = "a2a_server_task_failed"

    error: str
    """What went wrong."""


class A2AServerTaskStartedEvent(_AboutContext):
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
