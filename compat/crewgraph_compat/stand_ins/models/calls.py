"""What programs share around a request: messages, its id, cache marks, and why it ended."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, NotRequired, TypedDict, cast
from uuid import uuid4

__all__ = [
    "CACHE_BREAKPOINT_KEY",
    "LLMMessage",
    "extract_choices_finish_reason_and_id",
    "get_current_call_id",
    "llm_call_context",
    "mark_cache_breakpoint",
    "strip_cache_breakpoint",
]


CACHE_BREAKPOINT_KEY = "cache_breakpoint"
"""What a message is marked with up to which a provider may keep the conversation."""

_call_id: ContextVar[str | None] = ContextVar("crewgraph_call_id", default=None)


@contextmanager
def llm_call_context() -> Generator[str]:
    """A request: code within knows it by one number."""
    built = str(uuid4())
    token = _call_id.set(built)
    try:
        yield built
    finally:
        _call_id.reset(token)


def get_current_call_id() -> str:
    """The number of the request around; a new one where there is none."""
    return _call_id.get() or str(uuid4())


def mark_cache_breakpoint(message: dict[str, Any]) -> dict[str, Any]:
    """The message with the mark; the given one stays as it is."""
    return {**message, CACHE_BREAKPOINT_KEY: True}


def strip_cache_breakpoint(message: dict[str, Any]) -> None:
    """Take the mark off a message."""
    message.pop(CACHE_BREAKPOINT_KEY, None)


def extract_choices_finish_reason_and_id(response_or_chunk: Any) -> tuple[str | None, str | None]:
    """Why an answer in OpenAI's form ended, and its id; None for what it does not say."""
    choices = _field(response_or_chunk, "choices")
    items = cast("Sequence[Any]", choices) if isinstance(choices, (list, tuple)) else ()
    first = items[0] if items else None
    return _text(_field(first, "finish_reason")), _text(_field(response_or_chunk, "id"))


def _field(holder: Any, name: str) -> Any:
    return cast("dict[str, Any]", holder).get(name) if isinstance(holder, dict) else getattr(holder, name, None)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


class LLMMessage(TypedDict):
    """A message of a conversation, in the form of OpenAI's protocol."""

    role: Literal["user", "assistant", "system", "tool"]
    content: str | list[dict[str, Any]] | None
    tool_call_id: NotRequired[str]
    name: NotRequired[str]
    tool_calls: NotRequired[list[dict[str, Any]]]
    raw_tool_call_parts: NotRequired[list[Any]]
    files: NotRequired[dict[str, Any]]
