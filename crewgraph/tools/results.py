"""Renders tool results for models: plain data, results with a schema, and content blocks of MCP and LangChain tools."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from crewgraph.annotations import return_type
from crewgraph.core.plain import plain
from crewgraph.deprecations import user_stacklevel
from crewgraph.schema import PlainDict, PlainMapping, is_list, is_object

Rendered = tuple[str, list[dict[str, Any]]]
"""A text, and image blocks."""


def observation(result: Any) -> str:
    """Return plain data as the text that models and programs see, which is Python's: `{'open': True}`."""
    return str(result)


def result_schema_of(function: Callable[..., Any]) -> type[BaseModel] | None:
    """Return the pydantic model in the return annotation of a function, if there is one."""
    returned = return_type(function)
    return returned if isinstance(returned, type) and issubclass(returned, BaseModel) else None


def result_text(tool: str, schema: type[BaseModel] | None, result: Any) -> str:
    """Return a result as text: JSON by its schema, or else `observation`.

    Args:
        tool: The name of the tool, for the warning.
        schema: The pydantic model of the result, if any.
        result: What the tool returned.

    Warns:
        UserWarning: The result does not match the schema.
    """
    if schema is not None:
        try:
            return schema.model_validate(result, from_attributes=True).model_dump_json()
        except ValidationError as error:
            message = (
                f"the result of the tool `{tool}` does not match its `result_schema`, `{schema.__name__}`, and is passed on "
                f"unchanged: {error}"
            )
            warnings.warn(message, UserWarning, stacklevel=user_stacklevel())
    return observation(plain(result))


def restore_result(schema: type[BaseModel] | None, result: Any) -> Any:
    """Restore a result with a schema from plain data; return it unchanged if that fails."""
    if schema is None or not isinstance(result, dict):
        return result
    try:
        return schema.model_validate(result)
    except ValidationError:
        return cast("PlainDict", result)


MAX_IMAGE_BYTES = 5_000_000
"""Maximum size of an image in bytes. Providers reject much larger ones, and runs record them, too."""

_KINDS = {"text", "image", "image_url", "audio", "file", "resource", "resource_link", "text-plain", "video"}


def is_blocks(result: Any) -> bool:
    """Return whether a result is a list of content blocks, as LangChain tools may return."""
    return (
        is_list(result) and bool(result) and all(is_object(block) and block.get("type") in _KINDS for block in result)
    )


def render_blocks(blocks: Iterable[Mapping[str, object]]) -> Rendered:
    """Render content blocks as one text and a list of images."""
    texts: list[str] = []
    images: list[dict[str, object]] = []
    for block in blocks:
        text, image = _read_block(block)
        texts += [text] if text else []
        images += [image] if image else []
    return "\n".join(texts), images


def _read_block(block: PlainMapping) -> tuple[str, dict[str, object] | None]:
    kind = block.get("type")
    if kind == "text":
        return str(block.get("text", "")), None
    if kind == "image_url":
        return "", {"type": "image_url", "image_url": block["image_url"]}
    if kind == "resource_link":
        return " ".join(str(block[key]) for key in ("name", "uri", "description") if block.get(key)), None
    if kind == "resource":
        resource: PlainMapping = block.get("resource") or {}
        if "text" in resource:
            return str(resource["text"]), None
        return _render_bytes(resource.get("blob"), resource.get("mimeType"), str(resource.get("uri") or ""))
    if kind == "text-plain" and isinstance(block.get("text"), str):
        return block["text"], None
    data = block.get("data", block.get("base64"))
    if data is None and kind == "image" and block.get("url"):
        return "", {"type": "image_url", "image_url": {"url": block["url"]}}
    return _render_bytes(
        data, block.get("mimeType", block.get("mime_type")), str(block.get("url") or block.get("id") or "")
    )


def _render_bytes(data: Any, mime: object, address: str) -> tuple[str, dict[str, object] | None]:
    """Render base64 data as an image if it is one of acceptable size, else as a note."""
    mime_type, size = str(mime or "data"), len(data or "") * 3 // 4
    if isinstance(data, str) and mime_type.startswith("image/") and size <= MAX_IMAGE_BYTES:
        return "", {"type": "image_url", "image_url": {"url": f"data:{mime_type};base64,{data}"}}
    parts: Sequence[str] = [mime_type, *([f"{size} bytes"] if data else []), *([address] if address else [])]
    return f"({', '.join(parts)}: cannot be shown here)", None
