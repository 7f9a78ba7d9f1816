"""The state of a conversation: its messages, events and agent threads."""

from typing import Any, Literal
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field

from crewgraph.schema import Metadata, PlainDict, is_mapping

__all__ = [
    "AgentMessage",
    "ChatState",
    "ConversationEvent",
    "ConversationEventVisibility",
    "ConversationMessage",
    "ConversationMessageRole",
    "ConversationState",
    "message_to_llm_dict",
]

ConversationMessageRole = Literal["user", "assistant", "system", "tool"]
"""Author of a message."""

ConversationEventVisibility = Literal["private", "public"]
"""Whether an event is shown to the user or only stored."""


class ConversationMessage(BaseModel):
    """A message of a conversation."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    role: ConversationMessageRole

    content: str | list[PlainDict] | None
    """Text, or content parts in the form that models take."""

    name: str | None = None
    """Name of the author."""

    tool_call_id: str | None = None
    """Id of the tool call that this result answers."""

    tool_calls: list[PlainDict] | None = None
    """Tool calls that the message requests."""

    files: PlainDict | None = None
    """Attached files by name."""

    metadata: Metadata = Field(default_factory=dict)
    """Metadata, which models do not see."""


class AgentMessage(BaseModel):
    """A message in an agent's own thread."""

    role: ConversationMessageRole | str = "assistant"
    content: Any
    metadata: Metadata = Field(default_factory=dict)


class ConversationEvent(BaseModel):
    """An event of a conversation that is not a message."""

    type: str
    payload: PlainDict = Field(default_factory=dict)

    agent_name: str | None = None
    """The agent that the event belongs to."""

    visibility: ConversationEventVisibility = "private"
    """Whether the event is shown to the user."""


class ConversationState(BaseModel):
    """State of a conversation; subclass it to add fields."""

    id: str = Field(default_factory=lambda: str(uuid4()))
    """Id of the conversation."""

    messages: list[ConversationMessage] = Field(default_factory=list[ConversationMessage])
    """The messages, latest last."""

    current_user_message: str | None = None
    """The message of the current turn."""

    last_user_message: str | None = None
    """The user's latest message."""

    last_intent: str | None = None
    """The latest route."""

    ended: bool = False
    """Whether the conversation has ended."""

    events: list[ConversationEvent] = Field(default_factory=list[ConversationEvent])
    """Events other than messages."""

    agent_threads: dict[str, list[AgentMessage]] = Field(default_factory=dict[str, list[AgentMessage]])
    """Messages of agents, by agent."""

    session_ready: bool = False
    """Free for programs: whether one-time setup of the conversation is done."""


class ChatState(BaseModel):
    """Minimal state of a conversation, for flows that handle turns themselves."""

    id: str = Field(default_factory=lambda: str(uuid4()))
    """Id of the conversation."""

    messages: list[PlainDict] = Field(default_factory=list[dict[str, Any]])
    """The messages, in the form that models take."""

    last_user_message: str | None = None
    """The user's latest message."""

    last_intent: str | None = None
    """The latest route."""

    session_ready: bool = False
    """Free for programs: whether one-time setup of the conversation is done."""


def message_to_llm_dict(message: object) -> PlainDict:
    """Return a message in the form that models take.

    Args:
        message: A `ConversationMessage`, a dict, or the text of a user message.
    """
    if is_mapping(message):
        return dict(message)
    if not isinstance(message, BaseModel):
        return {"role": getattr(message, "role", "user"), "content": getattr(message, "content", str(message))}
    fields = {name: getattr(message, name) for name in type(message).model_fields if name != "metadata"}
    return {name: value for name, value in fields.items() if value is not None or name == "content"}
