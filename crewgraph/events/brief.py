"""What an event holds as JSON data: values in full, agents, tasks, crews and tools as who they are."""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Set
from datetime import date, datetime, time, timedelta
from enum import Enum
from typing import Any, cast

from pydantic import BaseModel

__all__ = ["attribute", "brief", "reference"]

_NAMES = ("id", "role", "name")


def attribute(of: object, name: str) -> str | None:
    """An attribute as text; None where the object has no such attribute or nothing in it."""
    value = getattr(of, name, None)
    return None if value is None else str(value)


def reference(value: object) -> Any:
    """An agent, a task, a crew or a tool as a dict of its id, role and name, what it has of these.

    A definition holds models, keys and other definitions: nothing for a record of what happened.
    """
    if value is None or isinstance(value, (str, Mapping)):
        return brief(cast("object", value))
    if isinstance(value, (list, tuple)):
        return [reference(one) for one in cast("Iterable[object]", value)]
    return {name: told for name in _NAMES if (told := attribute(value, name)) is not None} or brief(value)


def brief(value: object) -> Any:
    """A value as JSON data: pydantic models and dataclasses by field, functions and other objects by name."""
    return _brief(value, ())


def _brief(value: object, above: tuple[int, ...]) -> Any:
    if value is None or type(value) in (str, bool, int):
        return value
    if id(value) in above:
        return "..."
    inside = (*above, id(value))
    if isinstance(value, Mapping):
        return {str(k): _brief(v, inside) for k, v in cast("Mapping[object, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_brief(one, inside) for one in cast("Iterable[object]", value)]
    if isinstance(value, Set):
        return sorted((_brief(one, inside) for one in cast("Iterable[object]", value)), key=str)
    if isinstance(value, BaseModel):
        shown = (name for name, field in type(value).model_fields.items() if not field.exclude)
        extra = value.model_extra or {}
        return {name: _brief(getattr(value, name), inside) for name in (*shown, *extra)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _brief(getattr(value, field.name), inside) for field in dataclasses.fields(value)}
    return _word(value)


def _word(value: object) -> Any:
    """One value without parts."""
    if isinstance(value, Enum):
        return brief(value.value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, (bytes, bytearray)):
        return f"<{len(value)} bytes>"
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {value}"
    if callable(value):
        return str(getattr(value, "__qualname__", type(value).__qualname__))
    kind = type(value)
    if kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__:
        return f"<{kind.__qualname__}>"  # the default text holds a memory address
    return str(value)
