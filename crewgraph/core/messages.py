"""Messages to and from models as plain data: the same live, recorded and replayed."""

from typing import Any, NotRequired, TypedDict

from crewgraph.schema import PlainDict, PlainMapping

Block = dict[str, Any]
"""A part of a message: a text, an image, a file ..."""

Content = str | list[str | Block]
"""Text, or a list of text and provider blocks as LangChain messages hold them."""


class ToolRequest(TypedDict):
    """A tool call that a model requests."""

    id: str
    name: str
    args: PlainDict | str
    """The arguments; a string if the model wrote something that is not a JSON object."""


class Message(TypedDict):
    """One entry of a conversation."""

    role: str
    """system, user, assistant or tool."""

    content: Content
    tool_calls: NotRequired[list[ToolRequest]]
    """On an assistant's entry: the tool calls it requested."""

    tool_call_id: NotRequired[str]
    """On a tool's entry: the id of the request it answers."""

    name: NotRequired[str]
    """On a tool's entry: the tool."""

    extra: NotRequired[PlainDict]
    """Provider data to send back with an assistant's entry (LangChain's `additional_kwargs`)."""


class ToolSpec(TypedDict):
    """A tool as a model sees it."""

    name: str
    description: str
    parameters: dict[str, Any]
    """A JSON schema of type object."""

    extras: NotRequired[PlainDict]
    """What its provider is to know besides, such as `cache_control`: LangChain's `extras`."""

    native: NotRequired[PlainDict]
    """On a tool of the model's provider: what is sent in place of all of this."""


class Usage(TypedDict):
    """The usage that a provider reported for one request, in tokens."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    cached_prompt_tokens: int
    reasoning_tokens: int
    cache_creation_tokens: int
    from_cache: NotRequired[bool]
    """True for an answer from LangChain's cache, for which no provider was asked."""


class Hooked(TypedDict):
    """How hooks changed a conversation."""

    kept: int
    """The number of messages from its beginning that stay."""

    then: list[Message]
    """The messages after them."""


class Cut(TypedDict):
    """How a text was cut off."""

    reason: str
    """The provider's word for it, such as `length`."""

    limited: bool
    """Whether the program has set a limit for answers."""


class Reply(TypedDict):
    """A model's answer."""

    content: Content
    tool_calls: list[ToolRequest]
    usage: Usage | None
    """None where the provider reported nothing."""

    extra: PlainDict
    """LangChain's `additional_kwargs`, to be sent back with the history."""

    id: NotRequired[str]
    """The id of LangChain's message, under which it was streamed."""

    model: NotRequired[str]
    """The model that answered, if it is not the one that was asked."""

    before: NotRequired[list[tuple[str, Usage | None]]]
    """Models asked before it whose answers were not whole, and what they used."""

    cut: NotRequired[Cut]
    """Set if the end of the text is missing."""

    unknown_reason: NotRequired[str]
    """The provider's word for the end of the text, if it is not known: an answer is taken, an action is not."""

    reasoning: NotRequired[str]
    """The reasoning that stood in the text, for events; it is not recorded."""

    hooked: NotRequired[Hooked]
    """The change that hooks made to the conversation, if any."""

    metadata: NotRequired[PlainMapping]
    """LangChain's `response_metadata`, for events; it is not recorded."""
