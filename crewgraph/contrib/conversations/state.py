"""What a conversation is kept as: its messages, and what agents found out beside them."""

from collections.abc import Mapping
from typing import Any, Literal, cast
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field

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
"""Who says something."""

ConversationEventVisibility = Literal["private", "public"]
"""Whether a person sees something, or the flow alone."""


class ConversationMessage(BaseModel):
    """Something that was said in a conversation."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    role: ConversationMessageRole
    """Who says it."""

    content: str | list[dict[str, Any]] | None
    """What is said: a text, or parts of it as models take them."""

    name: str | None = None
    """The name of who says it."""

    tool_call_id: str | None = None
    """The request that a tool's result answers."""

    tool_calls: list[dict[str, Any]] | None = None
    """The requests of tools in it."""

    files: dict[str, Any] | None = None
    """What comes with it."""

    metadata: dict[str, Any] = Field(default_factory=dict)
    """What is noted of it; models are not told."""


class AgentMessage(BaseModel):
    """Something that an agent said, which stands in a thread of its own."""

    role: ConversationMessageRole | str = "assistant"
    """Who says it."""

    content: Any
    """What is said."""

    metadata: dict[str, Any] = Field(default_factory=dict)
    """What is noted of it."""


class ConversationEvent(BaseModel):
    """Something that happened beside the messages."""

    type: str
    """What it is."""

    payload: dict[str, Any] = Field(default_factory=dict)
    """What there is to know."""

    agent_name: str | None = None
    """The agent that it is of."""

    visibility: ConversationEventVisibility = "private"
    """Whether it is shown."""


class ConversationState(BaseModel):
    """The state of a conversation; a base for states of one's own."""

    id: str = Field(default_factory=lambda: str(uuid4()))
    """The conversation."""

    messages: list[ConversationMessage] = Field(default_factory=list[ConversationMessage])
    """What was said, the latest last."""

    current_user_message: str | None = None
    """What is answered now."""

    last_user_message: str | None = None
    """What the user said last."""

    last_intent: str | None = None
    """The route that was taken last."""

    ended: bool = False
    """Whether it is over."""

    events: list[ConversationEvent] = Field(default_factory=list[ConversationEvent])
    """What happened beside the messages."""

    agent_threads: dict[str, list[AgentMessage]] = Field(default_factory=dict[str, list[AgentMessage]])
    """What agents found out, by their names."""

    session_ready: bool = False
    """For programs: whether what is done once in a conversation was done."""


class ChatState(BaseModel):
    """The least state of a conversation, for flows that take their own way through a turn."""

    id: str = Field(default_factory=lambda: str(uuid4()))
    """The conversation."""

    messages: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])
    """What was said, as models take it."""

    last_user_message: str | None = None
    """What the user said last."""

    last_intent: str | None = None
    """The route that was taken last."""

    session_ready: bool = False
    """For programs: whether what is done once in a conversation was done."""


def message_to_llm_dict(message: Any) -> dict[str, Any]:
    """A message as models take it: a `ConversationMessage`, a dict, or a text of the user's."""
    if isinstance(message, Mapping):
        return dict(cast("Mapping[str, Any]", message))
    if not isinstance(message, BaseModel):
        return {"role": getattr(message, "role", "user"), "content": getattr(message, "content", str(message))}
    told = {name: getattr(message, name) for name in type(message).model_fields if name != "metadata"}
    return {name: value for name, value in told.items() if value is not None or name == "content"}
