"""What a tool returns, as a model is shown it, where the tool says which form it has.

How a model is shown what a tool returned.

Blocks of content, as tools of MCP servers and of LangChain return them, and how a model is shown them.
"""

import inspect
import json
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, cast, get_type_hints

from pydantic import BaseModel, ValidationError

from crewgraph.core.plain import plain
from crewgraph.deprecations import user_stacklevel

__all__ = ["Rendered", "is_blocks", "observation", "render_blocks", "restore_result", "result_schema_of", "result_text"]


Rendered = tuple[str, list[dict[str, Any]]]
"""A text, and blocks with images beside it."""


def observation(result: Any) -> str:
    """Plain data as a text: a text as it is, anything else as JSON."""
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)


def result_schema_of(function: Callable[..., Any]) -> type[BaseModel] | None:
    """The model that a function is annotated to return; None where it is none."""
    inner: Any = inspect.unwrap(function)
    while isinstance(inner, partial):
        inner = inspect.unwrap(cast("Callable[..., Any]", inner.func))
    inner = getattr(inner, "__func__", inner)
    annotation = getattr(inner, "__annotations__", {}).get("return")
    if isinstance(annotation, str):
        try:
            annotation = get_type_hints(inner).get("return")
        except (NameError, AttributeError, TypeError, SyntaxError):
            return None  # it is for readers only
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def result_text(tool: str, schema: type[BaseModel] | None, result: Any) -> str:
    """A result as a text: by its schema as JSON, else as `observation` has it.

    Args:
        tool: what the tool is called, for the warning.
        schema: the form that the result should have.
        result: what the tool returned.

    Warns:
        UserWarning: the result does not fit the schema.
    """
    if schema is not None:
        try:
            return schema.model_validate(result, from_attributes=True).model_dump_json()
        except ValidationError as error:
            message = f"what the tool `{tool}` returned is no `{schema.__name__}`, its `result_schema`, and shown as is: {error}"
            warnings.warn(message, UserWarning, stacklevel=user_stacklevel())
    return observation(plain(result))


def restore_result(schema: type[BaseModel] | None, result: Any) -> Any:
    """A result that was kept as plain data as what the tool returned, where its schema says how."""
    if schema is None or not isinstance(result, dict):
        return result
    try:
        return schema.model_validate(result)
    except ValidationError:
        return cast("dict[str, Any]", result)


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


def render_blocks(blocks: Iterable[Mapping[str, Any]]) -> Rendered:
    """Blocks as a model is shown them: what can be read as one text, and the images."""
    texts: list[str] = []
    images: list[dict[str, Any]] = []
    for block in blocks:
        text, image = _read_block(block)
        texts += [text] if text else []
        images += [image] if image else []
    return "\n".join(texts), images


def _read_block(block: Mapping[str, Any]) -> tuple[str, dict[str, Any] | None]:
    kind = block.get("type")
    if kind == "text":
        return str(block.get("text", "")), None
    if kind == "image_url":
        return "", {"type": "image_url", "image_url": block["image_url"]}
    if kind == "resource_link":
        return " ".join(str(block[key]) for key in ("name", "uri", "description") if block.get(key)), None
    if kind == "resource":
        resource: Mapping[str, Any] = block.get("resource") or {}
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


def _render_bytes(data: Any, mime: Any, address: str) -> tuple[str, dict[str, Any] | None]:
    """Bytes in base64: shown where they are an image that is not too large, else told of."""
    mime_type, size = str(mime or "data"), len(data or "") * 3 // 4
    if isinstance(data, str) and mime_type.startswith("image/") and size <= _LARGEST:
        return "", {"type": "image_url", "image_url": {"url": f"data:{mime_type};base64,{data}"}}
    parts: Sequence[str] = [mime_type, *([f"{size} bytes"] if data else []), *([address] if address else [])]
    return f"({', '.join(parts)}: cannot be shown here)", None
