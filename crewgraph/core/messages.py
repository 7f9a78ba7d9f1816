"""What goes to a model and comes back, as plain data: the same live, recorded and replayed."""

from typing import Any, NotRequired, TypedDict

__all__ = ["Content", "Hooked", "Message", "Reply", "ToolRequest", "ToolSpec", "Usage"]

Content = str | list[str | dict[str, Any]]
"""Text, or a list of text and provider blocks as LangChain messages hold them."""


class ToolRequest(TypedDict):
    """A model's wish to have a tool called."""

    id: str
    name: str
    args: dict[str, Any] | str
    """The arguments; a string where the model wrote something that is no JSON object."""


class Message(TypedDict):
    """One entry of a conversation."""

    role: str
    """system, user, assistant or tool."""

    content: Content
    tool_calls: NotRequired[list[ToolRequest]]
    """On an assistant's entry: what it asked for."""

    tool_call_id: NotRequired[str]
    """On a tool's entry: which request this answers."""

    name: NotRequired[str]
    """On a tool's entry: the tool."""

    extra: NotRequired[dict[str, Any]]
    """What a provider wants back with an assistant's entry (LangChain's `additional_kwargs`)."""


class ToolSpec(TypedDict):
    """A tool as a model sees it."""

    name: str
    description: str
    parameters: dict[str, Any]
    """A JSON schema of type object."""


class Usage(TypedDict):
    """What a provider reported for one request, in tokens."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    cached_prompt_tokens: int
    reasoning_tokens: int
    cache_creation_tokens: int


class Hooked(TypedDict):
    """How a conversation goes on that hooks have changed."""

    kept: int
    """How many messages from its beginning stay."""

    then: list[Message]
    """What follows them."""


class Reply(TypedDict):
    """A model's answer."""

    content: Content
    tool_calls: list[ToolRequest]
    usage: Usage | None
    """None where the provider reported nothing."""

    extra: dict[str, Any]
    """LangChain's `additional_kwargs`, to be sent back with the history."""

    model: NotRequired[str]
    """The model that answered, where it is another than the one that was asked."""

    hooked: NotRequired[Hooked]
    """What hooks made of the conversation that was answered, where they changed it."""
