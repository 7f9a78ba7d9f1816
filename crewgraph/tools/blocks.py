"""Blocks of content, as tools of MCP servers and of LangChain return them, and how a model is shown them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from crewgraph.tools.observation import Shown

__all__ = ["is_blocks", "shown"]

_LARGEST = 5_000_000
"""Bytes of an image. Providers refuse images that are much larger, and the record of the run holds them, too."""

_KINDS = {"text", "image", "image_url", "audio", "file", "resource", "resource_link", "text-plain", "video"}


def is_blocks(result: Any) -> bool:
    """Whether a result is a list of blocks of content, as LangChain's tools may return it."""
    return (
        isinstance(result, list)
        and bool(cast(list[Any], result))
        and all(isinstance(block, dict) and block.get("type") in _KINDS for block in cast(list[Any], result))
    )


def shown(blocks: Iterable[Mapping[str, Any]]) -> Shown:
    """Blocks as a model is shown them: what can be read as one text, and the images."""
    texts: list[str] = []
    images: list[dict[str, Any]] = []
    for block in blocks:
        text, image = _read(block)
        texts += [text] if text else []
        images += [image] if image else []
    return "\n".join(texts), images


def _read(block: Mapping[str, Any]) -> tuple[str, dict[str, Any] | None]:
    kind = block.get("type")
    if kind == "text":
        return str(block.get("text", "")), None
    if kind == "image_url":
        return "", {"type": "image_url", "image_url": block["image_url"]}
    if kind == "resource_link":
        return " ".join(str(block[key]) for key in ("name", "uri", "description") if block.get(key)), None
    if kind == "resource":
        held: Mapping[str, Any] = block.get("resource") or {}
        if "text" in held:
            return str(held["text"]), None
        return _bytes(held.get("blob"), held.get("mimeType"), str(held.get("uri") or ""))
    if kind == "text-plain" and isinstance(block.get("text"), str):
        return block["text"], None
    data = block.get("data", block.get("base64"))
    if data is None and kind == "image" and block.get("url"):
        return "", {"type": "image_url", "image_url": {"url": block["url"]}}
    return _bytes(data, block.get("mimeType", block.get("mime_type")), str(block.get("url") or block.get("id") or ""))


def _bytes(data: Any, mime: Any, address: str) -> tuple[str, dict[str, Any] | None]:
    """Bytes in base64: shown where they are an image that is not too large, else told of."""
    kind, size = str(mime or "data"), len(data or "") * 3 // 4
    if isinstance(data, str) and kind.startswith("image/") and size <= _LARGEST:
        return "", {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}
    told: Sequence[str] = [kind, *([f"{size} bytes"] if data else []), *([address] if address else [])]
    return f"({', '.join(told)}: cannot be shown here)", None
