"""Names of tools, and callables as fields of pydantic models."""

import hashlib
import importlib
import os
import re
import unicodedata
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

__all__ = ["SerializableCallable", "callable_to_string", "sanitize_tool_name", "string_to_callable"]


_ALLOWED = "CREWAI_DESERIALIZE_CALLBACKS"


def callable_to_string(fn: Callable[..., Any]) -> str | None:
    """The dotted path of a function or class; None where it has none that others could import."""
    module, name = getattr(fn, "__module__", None), getattr(fn, "__qualname__", None)
    if module is None and (owner := getattr(fn, "__self__", None)) is not None:
        module = type(owner).__module__
    return f"{module}.{name}" if module and name and "<" not in name else None


def string_to_callable(value: Any) -> Callable[..., Any]:
    """What `callable_to_string` told; something callable is taken as it is.

    Raises:
        ValueError: it is no path, leads nowhere, or the environment does not allow to follow paths.
    """
    if callable(value):
        return value
    if not isinstance(value, str):
        raise ValueError(f"a callback is a function or its dotted path, not a {type(value).__name__}")
    if "." not in value:
        raise ValueError(f"{value!r} is no path of a callback; write it as `module.name`")
    if os.environ.get(_ALLOWED) != "1":
        raise ValueError(
            f"the path {value!r} is not followed, since it may lead to any function. Set {_ALLOWED}=1 if you trust whoever "
            "wrote it."
        )
    result = _by_path(value)
    if not callable(result):
        raise ValueError(f"{value!r} leads to no callback")
    return result


SerializableCallable = Annotated[
    Callable[..., Any],
    BeforeValidator(string_to_callable),
    PlainSerializer(callable_to_string, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string"}),
]
"""For fields of models: a function, or its dotted path; its path in JSON."""


def _by_path(path: str) -> Any:
    parts = path.split(".")
    for length in range(len(parts) - 1, 0, -1):
        try:
            return _within(importlib.import_module(".".join(parts[:length])), ".".join(parts[length:]))
        except (ImportError, AttributeError, ValueError):  # it may be a class of a module further up
            continue
    return None


def _within(found: Any, name: str) -> Any:
    for part in name.split("."):
        found = getattr(found, part)
    return found


_HUMPS = (re.compile(r"([A-Z]+)([A-Z][a-z])"), re.compile(r"([a-z])([A-Z])"))
_DIGITS = 8


def sanitize_tool_name(name: str, max_length: int = 64) -> str:
    """A tool's name as CrewAI tells it to models: lower-case letters and digits, joined by `_`.

    Agents of crewgraph call tools by `crewgraph.tools.name.model_name`, which keeps capitals.

    Args:
        name: the tool's name.
        max_length: how long it may be; of a longer one the start is kept, with eight digits made from the whole.
    """
    for hump in _HUMPS:
        name = hump.sub(r"\1_\2", name)
    result = _slug(name)
    if len(result) <= max_length:
        return result
    digits = hashlib.sha256(result.encode()).hexdigest()[:_DIGITS]
    return f"{result[: max_length - _DIGITS - 1].rstrip('_')}_{digits}"


def _slug(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return "_".join(re.findall(r"[a-z0-9]+", plain.replace("'", "").replace('"', "")))
