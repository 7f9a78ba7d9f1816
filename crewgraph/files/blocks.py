"""Files in a conversation: a mark where one stands, and its content in the place of the mark when a model is asked.

Marks are small and hold the digest of the file, so a conversation can be compared with a recorded one without reading it.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, cast

from crewgraph.core.loops.bridge import in_thread
from crewgraph.core.messages import Message
from crewgraph.files.record import FileRecord, content_of

__all__ = ["aexpanded", "expanded", "has_files", "mark_of"]

_KIND = "input_file"


def mark_of(name: str, record: FileRecord) -> dict[str, Any]:
    """What stands for a file in a conversation."""
    return {"type": _KIND, "name": name, "file": dict(record)}


def has_files(messages: Sequence[Message]) -> bool:
    """Whether a file stands in a conversation."""
    return any(_is_mark(part) for message in messages for part in _parts(message))


def expanded(messages: Sequence[Message]) -> Sequence[Message]:
    """A conversation with the content of its files, in the form of OpenAI's blocks. Reads them.

    Raises:
        FileChanged: one is gone, or is another one now.
    """
    if not has_files(messages):
        return messages
    return [_expanded(message) for message in messages]


async def aexpanded(messages: Sequence[Message]) -> Sequence[Message]:
    """The same, read in a thread."""
    return await in_thread(expanded, messages) if has_files(messages) else messages


def _expanded(message: Message) -> Message:
    parts = _parts(message)
    if not any(map(_is_mark, parts)):
        return message
    made = message.copy()
    made["content"] = [_block(part["name"], part["file"]) if _is_mark(part) else part for part in parts]
    return made


def _parts(message: Message) -> Sequence[Any]:
    content = message["content"]
    return content if isinstance(content, list) else ()


def _is_mark(part: Any) -> bool:
    return isinstance(part, Mapping) and cast("Mapping[str, Any]", part).get("type") == _KIND


def _block(name: str, record: FileRecord) -> dict[str, Any]:
    kind = record["type"]
    if "url" in record:
        return {"type": "image_url", "image_url": {"url": record["url"]}}
    data = content_of(record)
    if kind.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": _data_url(kind, data)}}
    if kind == "application/pdf":
        return {"type": "file", "file": {"filename": record["filename"], "file_data": _data_url(kind, data)}}
    return {"type": "text", "text": f"{name}:\n{data.decode('utf-8', 'replace')}"}


def _data_url(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
