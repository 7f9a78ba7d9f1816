"""Conversion of arbitrary objects to JSON data, and `Literal` types from texts."""

import base64
import dataclasses
import json
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Literal, TypeAlias, Union, cast
from uuid import UUID

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

from crewgraph.schema import PlainDict

__all__ = [
    "CrewJSONEncoder",
    "Serializable",
    "SerializablePrimitive",
    "create_literals_from_strings",
    "to_serializable",
    "to_string",
]


SerializablePrimitive: TypeAlias = str | int | float | bool | None
"""JSON scalars."""

Serializable: TypeAlias = Union[str, int, float, bool, None, list["Serializable"], dict[str, "Serializable"]]  # noqa: UP007
"""Any JSON value."""


def to_serializable(
    obj: Any,
    exclude: set[str] | None = None,
    max_depth: int = 5,
    _current_depth: int = 0,
    _ancestors: set[int] | None = None,
) -> Serializable:
    """Convert an object to plain data: models and dataclasses to dicts, times to texts, anything else to its `repr`.

    Args:
        obj: the object.
        exclude: names of keys at any depth, and of model fields, to omit.
        max_depth: the number of levels to expand; deeper values become their `repr`.
    """
    if obj is None or isinstance(obj, (str, int, float, bool)):
        return obj
    above = _ancestors or set()
    if id(obj) in above:
        return f"<circular_ref:{type(obj).__name__}>"
    if isinstance(obj, UUID):
        return str(obj)
    if isinstance(obj, (datetime, date)):
        return obj.isoformat()
    if _current_depth and _current_depth >= max_depth:
        return repr(obj)
    return _opened(obj, exclude or set(), max_depth, _current_depth + 1, above | {id(obj)})


def _opened(obj: Any, exclude: set[str], max_depth: int, depth: int, above: set[int]) -> Serializable:
    if isinstance(obj, (list, tuple, set)):
        items = cast("list[Any]", obj)
        return [to_serializable(item, exclude, max_depth, depth, above) for item in items]
    if isinstance(obj, Mapping):
        pairs = cast("Mapping[Any, Any]", obj)
        return {
            str(key): to_serializable(value, exclude, max_depth, depth, above)
            for key, value in pairs.items()
            if key not in exclude
        }
    if isinstance(obj, BaseModel):
        return to_serializable(_fields_of(obj, exclude), None, max_depth, depth, above)
    if dataclasses.is_dataclass(obj) and not isinstance(obj, type):
        return to_serializable(dataclasses.asdict(obj), exclude, max_depth, depth, above)
    return repr(obj)


def _fields_of(model: BaseModel, exclude: set[str]) -> PlainDict:
    """Return the fields of a model as JSON data; unconverted if one of them has no JSON form."""
    try:
        return model.model_dump(mode="json", exclude=exclude)
    except PydanticSerializationError:
        return model.model_dump(exclude=exclude)


def to_string(obj: Any) -> str | None:
    """Return an object as JSON text; None stays None."""
    plain = to_serializable(obj)
    return None if plain is None else json.dumps(plain)


class CrewJSONEncoder(json.JSONEncoder):
    """A JSON encoder that also supports models, times, ids, decimals, enums and bytes (base64)."""

    def default(self, obj: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return a JSON value for an object.

        Raises:
            TypeError: the value has no JSON representation.
        """
        if isinstance(obj, BaseModel):
            return obj.model_dump(mode="json")
        if isinstance(obj, (datetime, date)):
            return obj.isoformat()
        if isinstance(obj, (UUID, Decimal, Enum)):
            return str(obj)
        if isinstance(obj, bytes):
            return base64.b64encode(obj).decode()
        return super().default(obj)


def create_literals_from_strings(values: Iterable[str]) -> Any:
    """Return a `Literal` of the unique texts, in order.

    Raises:
        ValueError: there are none.
    """
    texts = tuple(dict.fromkeys(values))
    if not texts:
        raise ValueError("a Literal needs at least one text")
    return Literal[texts]
