"""What tools are built with: their names, models of their arguments, and callbacks that are stored as a path."""

import importlib
import os
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, PlainSerializer, WithJsonSchema

from crewgraph.schema import from_json_schema
from crewgraph.text import model_name

sanitize_tool_name = model_name
"""The name under which models see a tool."""


def create_model_from_schema(
    json_schema: dict[str, Any], *, model_name: str | None = None, **_settings: Any
) -> type[BaseModel]:
    """Create the argument model of a tool whose server checks the values itself."""
    return from_json_schema(json_schema, name=model_name or str(json_schema.get("title") or "Arguments"))


_ALLOWED = "CREWAI_DESERIALIZE_CALLBACKS"


def _callable_to_string(fn: Callable[..., Any]) -> str | None:
    """Return the dotted path of a function or class, or None if it cannot be imported by others."""
    module, name = getattr(fn, "__module__", None), getattr(fn, "__qualname__", None)
    if module is None and (owner := getattr(fn, "__self__", None)) is not None:
        module = type(owner).__module__
    return f"{module}.{name}" if module and name and "<" not in name else None


def _string_to_callable(value: Any) -> Callable[..., Any]:
    """Return the callable for a dotted path; callables are returned unchanged.

    Raises:
        ValueError: The path is malformed, cannot be resolved, or the environment forbids resolving paths.
    """
    if callable(value):
        return value
    if not isinstance(value, str):
        raise ValueError(f"a callback must be a function or its dotted path, not a {type(value).__name__}")
    if "." not in value:
        raise ValueError(f"{value!r} is not the path of a callback; write it as `module.name`")
    if os.environ.get(_ALLOWED) != "1":
        raise ValueError(
            f"the path {value!r} is not resolved, because it may name any function. Set {_ALLOWED}=1 if you trust its "
            "author."
        )
    result = _by_path(value)
    if not callable(result):
        raise ValueError(f"{value!r} is not a callback")
    return result


SerializableCallable = Annotated[
    Callable[..., Any],
    BeforeValidator(_string_to_callable),
    PlainSerializer(_callable_to_string, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string"}),
]
"""A pydantic field type: a function or its dotted path, serialized as the path."""


def _by_path(path: str) -> Any:
    parts = path.split(".")
    for length in range(len(parts) - 1, 0, -1):
        try:
            return _within(importlib.import_module(".".join(parts[:length])), ".".join(parts[length:]))
        except (ImportError, AttributeError, ValueError):  # the path may name a class in a parent module
            continue
    return None


def _within(value: Any, name: str) -> Any:
    for part in name.split("."):
        value = getattr(value, part)
    return value
