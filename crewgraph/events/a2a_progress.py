"""What agents elsewhere tell of their progress; those of push notifications are emitted by whoever receives them."""

from crewgraph.events.a2a_base import AboutAddress, AboutConversation, AboutTurn, WithMetadata

__all__ = [
    "A2AArtifactReceivedEvent",
    "A2APollingStartedEvent",
    "A2APollingStatusEvent",
    "A2APushNotificationReceivedEvent",
    "A2APushNotificationRegisteredEvent",
    "A2APushNotificationSentEvent",
    "A2APushNotificationTimeoutEvent",
    "A2AStreamingChunkEvent",
    "A2AStreamingStartedEvent",
]


class A2AArtifactReceivedEvent(AboutConversation, AboutTurn):
    """A remote agent has sent something it made."""

    type: str = "a2a_artifact_received"

    artifact_id: str
    """The artifact."""

    artifact_name: str | None = None
    """Its name."""

    artifact_description: str | None = None
    """What the artifact is."""

    mime_type: str | None = None
    """The content type."""

    size_bytes: int | None = None
    """How many bytes it has."""

    append: bool = False
    """Whether it is added to what came before."""

    last_chunk: bool = False
    """Whether it is the last piece."""

    turn_number: int = 1
    """Which message it is, from 1."""


class A2APollingStartedEvent(AboutAddress):
    """A remote agent is asked for its progress from now on."""

    type: str = "a2a_polling_started"

    context_id: str | None = None
    """The conversation."""

    polling_interval: float
    """How long it is waited in between, in seconds."""


class A2APollingStatusEvent(AboutConversation):
    """A remote agent has told its progress."""

    type: str = "a2a_polling_status"

    state: str
    """How far it is."""

    elapsed_seconds: float
    """How long it has taken so far, in seconds."""

    poll_count: int
    """How often it was asked for."""


class A2APushNotificationReceivedEvent(AboutConversation):
    """A remote agent has told its progress by itself."""

    type: str = "a2a_push_notification_received"

    state: str
    """How far it is."""


class A2APushNotificationRegisteredEvent(AboutConversation):
    """A remote agent knows where to tell its progress."""

    type: str = "a2a_push_notification_registered"

    callback_url: str
    """Where the remote agent tells of its progress."""


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


class A2APushNotificationTimeoutEvent(AboutConversation):
    """A remote agent has told nothing for too long."""

    type: str = "a2a_push_notification_timeout"

    timeout_seconds: float
    """How long it was waited, in seconds."""


class A2AStreamingChunkEvent(AboutConversation, AboutTurn):
    """A piece of a remote agent's answer."""

    type: str = "a2a_streaming_chunk"

    chunk: str
    """The piece."""

    chunk_index: int
    """Which piece it is, from 0."""

    final: bool = False
    """Whether it is the last one."""

    turn_number: int = 1
    """Which message it is, from 1."""


class A2AStreamingStartedEvent(AboutAddress, AboutTurn):
    """A remote agent answers in pieces."""

    type: str = "a2a_streaming_started"

    context_id: str | None = None
    """The conversation."""

    turn_number: int = 1
    """Which message it is, from 1."""
