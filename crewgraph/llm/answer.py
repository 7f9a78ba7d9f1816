"""What somebody's `call` returned, read as a reply."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import BaseModel

from crewgraph.core.messages import Content, Reply, ToolRequest, Usage
from crewgraph.llm.conversation import read_messages

__all__ = ["cut_at", "read_answer"]


def read_answer(returned: object, usage: Usage | None = None) -> Reply:
    """The reply in a returned value.

    Args:
        returned: a text, None (an empty answer), a pydantic model (its JSON), tool calls in OpenAI's or
            LangChain's form, a message with text and tool calls, or anything else by its `str()`; a dict or a
            list without tool calls becomes JSON.
        usage: what the call used, where that is known.
    """
    content, requests = _read(returned)
    numbered = [_with_id(request, number) for number, request in enumerate(requests)]
    return {"content": content, "tool_calls": numbered, "usage": usage, "extra": {}}


def _read(returned: object) -> tuple[Content, list[ToolRequest]]:
    if returned is None or isinstance(returned, str):
        return returned or "", []
    if isinstance(returned, Sequence) and not isinstance(returned, (bytes, bytearray)):
        listed = list(cast("Sequence[object]", returned))
        if listed and all(_is_call(entry) for entry in listed):
            return "", _requests(listed)
        return _text(listed), []
    if _is_call(returned):
        return "", _requests([returned])
    if _is_message(returned):
        spoken = {name: _part(returned, name) for name in ("content", "tool_calls")}
        message = read_messages([{"role": "assistant", **spoken}])[0]
        return message["content"], message.get("tool_calls", [])
    return _text(returned), []


def _part(holder: object, name: str) -> object:
    return (
        cast("Mapping[str, object]", holder).get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)
    )


def _requests(listed: list[object]) -> list[ToolRequest]:
    return read_messages([{"role": "assistant", "tool_calls": listed}])[0].get("tool_calls", [])


def _is_call(entry: object) -> bool:
    if isinstance(entry, Mapping):
        return "function" in entry or ("name" in entry and ("args" in entry or "arguments" in entry))
    function = getattr(entry, "function", None)
    return function is not None and hasattr(function, "name") and hasattr(function, "arguments")


def _is_message(entry: object) -> bool:
    if isinstance(entry, Mapping):
        return entry.get("role") == "assistant" or "tool_calls" in entry  # pyright: ignore[reportUnknownVariableType]
    return hasattr(entry, "content") and (hasattr(entry, "tool_calls") or hasattr(entry, "type"))


def _text(value: object) -> str:
    if isinstance(value, BaseModel):
        return value.model_dump_json()
    if isinstance(value, (Mapping, list)):
        return json.dumps(value, ensure_ascii=False, default=_plain)
    return str(value)


def _plain(value: object) -> Any:
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else str(value)


def _with_id(request: ToolRequest, number: int) -> ToolRequest:
    return {**request, "id": request["id"] or f"call_{number}"}


def _cut_parts(content: Sequence[Any], stop: Sequence[str]) -> list[Any]:
    left: list[Any] = []
    for part in content:
        text = part if isinstance(part, str) else part.get("text")
        cut = cut_at(text, stop) if isinstance(text, str) else text
        left.append(cut if isinstance(part, str) else part if cut == text else {**part, "text": cut})
        if cut != text:
            break
    return left


def cut_at(content: Content, stop: Sequence[str]) -> Content:
    """A content up to the first of some texts, for models that did not stop there themselves."""
    if not isinstance(content, str):
        return _cut_parts(content, stop)
    ends = [found for mark in stop if mark and (found := content.find(mark)) >= 0]
    return content[: min(ends)] if ends else content
