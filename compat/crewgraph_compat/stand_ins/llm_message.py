"""A message to a model."""

from typing import Any, Literal, NotRequired, TypedDict

__all__ = ["LLMMessage"]


class LLMMessage(TypedDict):
    """A message of a conversation, in the form of OpenAI's protocol."""

    role: Literal["user", "assistant", "system", "tool"]
    content: str | list[dict[str, Any]] | None
    tool_call_id: NotRequired[str]
    name: NotRequired[str]
    tool_calls: NotRequired[list[dict[str, Any]]]
    raw_tool_call_parts: NotRequired[list[Any]]
    files: NotRequired[dict[str, Any]]
