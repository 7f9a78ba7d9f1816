"""Values of a flow as checkpoints hold them: plain data, and what is more than that under a tag that says what it was.

Classes are found again by name in a closed table of the flow's own, never imported by a stored name.
"""

import base64
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from types import ModuleType
from typing import Any, cast
from uuid import UUID

from pydantic import BaseModel, TypeAdapter

from crewgraph.definitions.flow.definition import FlowDefinition
from crewgraph.errors import StorageError

__all__ = ["classes_of", "recorded", "revived"]

_TAG = "$type"
_VALUE = "$value"
_SCALARS = (str, int, float, bool, type(None))
_DEEPEST = 200
_SMALLEST, _GREATEST = -(1 << 63), 1 << 64

_TEXTS: dict[type, Callable[[Any], str]] = {
    datetime: datetime.isoformat,
    date: date.isoformat,
    time: time.isoformat,
    timedelta: lambda value: TypeAdapter(timedelta).dump_python(value, mode="json"),
    UUID: str,
    Decimal: str,
}
"""Types whose values are one text, and how that is written; pydantic reads it."""

_LISTS: dict[str, Callable[[Any], Any]] = {"tuple": tuple, "set": set, "frozenset": frozenset}


def recorded(value: Any, where: str) -> Any:
    """A value as plain data.

    Args:
        value: data, pydantic models, dataclasses, enums, dates, and collections of these.
        where: what holds it, for messages.

    Raises:
        StorageError: it holds something else.
    """
    return _recorded(value, where, 0)


def _recorded(value: Any, where: str, depth: int) -> Any:
    kind = cast("Any", type(value))
    if kind in _SCALARS:
        if kind is int and not _SMALLEST <= value < _GREATEST:
            return {_TAG: "int", _VALUE: str(value)}
        return value
    if depth > _DEEPEST:
        raise StorageError(f"{where} holds data that is nested more than {_DEEPEST} deep, or contains itself")
    deeper = depth + 1
    if kind is list:
        return [_recorded(one, where, deeper) for one in value]
    if kind is dict:
        return _mapping(cast("dict[Any, Any]", value), where, deeper)
    if kind in (tuple, set, frozenset):
        return {_TAG: kind.__name__, _VALUE: [_recorded(one, where, deeper) for one in value]}
    if kind in _TEXTS:
        return {_TAG: kind.__name__, _VALUE: _TEXTS[kind](value)}
    if kind is bytes:
        return {_TAG: "bytes", _VALUE: base64.b64encode(value).decode()}
    return _object(value, kind, where, deeper)


def _mapping(value: dict[Any, Any], where: str, depth: int) -> Any:
    if all(type(key) is str and not key.startswith("$") for key in value):
        return {key: _recorded(one, where, depth) for key, one in value.items()}
    pairs = [[_recorded(key, where, depth), _recorded(one, where, depth)] for key, one in value.items()]
    return {_TAG: "dict", _VALUE: pairs}


def _object(value: Any, kind: type[Any], where: str, depth: int) -> Any:
    if isinstance(value, Enum):
        return {_TAG: kind.__qualname__, _VALUE: _recorded(value.value, where, depth)}
    if isinstance(value, BaseModel):
        held = {**value.__dict__, **(value.__pydantic_extra__ or {})}
        return {_TAG: kind.__qualname__, _VALUE: {name: _recorded(one, where, depth) for name, one in held.items()}}
    if is_dataclass(value):
        held = {field.name: getattr(value, field.name) for field in fields(value)}
        return {_TAG: kind.__qualname__, _VALUE: {name: _recorded(one, where, depth) for name, one in held.items()}}
    if isinstance(value, PurePath):
        return str(value)
    for base in _SCALARS[:3]:
        if isinstance(value, base):
            return base(value)
    if isinstance(value, Mapping):
        return _mapping(dict(cast("Mapping[Any, Any]", value)), where, depth)
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_recorded(one, where, depth) for one in cast("list[Any]", value)]
    raise StorageError(
        f"{where} holds a `{kind.__qualname__}`, which cannot be kept. Keep what it is made from instead (text, numbers, lists, "
        "dicts, pydantic models, dataclasses), or put it on the flow itself (`self.client = ...` in `__init__`)."
    )


def revived(value: Any, classes: Mapping[str, type[Any]]) -> Any:
    """The value that was recorded.

    Args:
        value: what `recorded` gave.
        classes: by name, the classes that objects in it may be of; of others, the fields come as a dict.

    Raises:
        pydantic.ValidationError: the fields of an object do not fit its class any more.
    """
    if isinstance(value, list):
        return [revived(one, classes) for one in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    data = cast("dict[str, Any]", value)
    if _TAG not in data:
        return {key: revived(one, classes) for key, one in data.items()}
    return _tagged(str(data[_TAG]), data[_VALUE], classes)


def _tagged(tag: str, value: Any, classes: Mapping[str, type[Any]]) -> Any:
    if tag == "dict":
        return {revived(key, classes): revived(one, classes) for key, one in value}
    if tag == "int":
        return int(value)
    if tag == "bytes":
        return base64.b64decode(value)
    if tag in _LISTS:
        return _LISTS[tag](revived(one, classes) for one in value)
    text = next((kind for kind in _TEXTS if kind.__name__ == tag), None)
    if text is Decimal:  # pydantic takes no infinite ones
        return Decimal(value)
    if text is not None:
        return TypeAdapter(text).validate_python(value)
    held, kind = revived(value, classes), classes.get(tag)
    if kind is None:
        return held
    if issubclass(kind, BaseModel):
        return _model(kind, held)
    return kind(held) if issubclass(kind, Enum) else TypeAdapter(kind).validate_python(held)


def _model(kind: type[BaseModel], held: dict[str, Any]) -> BaseModel:
    known = kind.model_config.get("extra") == "allow"
    fields = {name: one for name, one in held.items() if known or name in kind.model_fields}
    made = kind.model_validate(fields, by_alias=False, by_name=True)
    for name, one in held.items():
        if name not in fields:  # an `id` that was given to it
            object.__setattr__(made, name, one)
    return made


def classes_of(definition: FlowDefinition, flow: type[Any], state: type[Any] | None) -> dict[str, type[Any]]:
    """The classes that a flow's values may be of: those its modules, its methods' annotations and its state name."""
    found: dict[str, type[Any]] = {}
    for module in {kind.__module__ for kind in flow.__mro__ if not kind.__module__.startswith("crewgraph.")}:
        holder: ModuleType | None = sys.modules.get(module)
        _take(found, list(vars(holder).values()) if holder else [])
    for method in definition.methods.values():
        _take(found, [*_annotations(method.func), *getattr(method.func, "__globals__", {}).values()])
        _take(found, [cell.cell_contents for cell in getattr(method.func, "__closure__", None) or () if _is_full(cell)])
    if state is not None:
        _take(found, [state])
    return found


def _take(found: dict[str, type[Any]], values: list[Any]) -> None:
    for value in values:
        if isinstance(value, type) and found.get(value.__qualname__) is not value and _is_data(value):
            found[value.__qualname__] = value
            if issubclass(value, BaseModel):
                _take(found, [part for field in value.model_fields.values() for part in _parts(field.annotation)])


def _is_data(kind: type[Any]) -> bool:
    return issubclass(kind, (BaseModel, Enum)) or is_dataclass(kind)


def _annotations(function: Any) -> list[Any]:
    told: dict[str, Any] = getattr(function, "__annotations__", {})
    return [part for one in told.values() for part in _parts(one)]


def _parts(annotation: Any) -> list[Any]:
    """The types that an annotation is made of."""
    inner: tuple[Any, ...] = getattr(annotation, "__args__", ())
    return [annotation, *(part for one in inner for part in _parts(one))]


def _is_full(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False
