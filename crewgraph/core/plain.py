"""Plain data: what the journal keeps and what bodies see, the same in a live run and in a replay."""

import dataclasses
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

from pydantic import BaseModel

__all__ = ["NotPlain", "plain"]

_TEXT_LIKE = (UUID, PurePath, Decimal, timedelta)
_BIGGEST = 1 << 63


class NotPlain(TypeError):
    """A value has no plain form; the message names its type."""


def plain(value: Any) -> Any:
    """A value as str, int, float, bool, None, list and dict.

    Tuples and sets become lists, pydantic models and dataclasses dicts, dates ISO text, enums their value; whole numbers
    beyond 64 bits become text, for msgpack has no such numbers.

    Raises:
        NotPlain: the value (or something inside it) has no plain form.
    """
    if value is None or isinstance(value, (str, bool, float)):
        return value if not isinstance(value, Enum) else plain(value.value)
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, int):
        return value if -_BIGGEST <= value < _BIGGEST else str(value)
    if isinstance(value, Mapping):
        return {_key(k): plain(v) for k, v in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, (set, frozenset)):
        return sorted((plain(item) for item in value), key=repr)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return _object(value)


def _object(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return plain(value.model_dump(mode="json"))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain({f.name: getattr(value, f.name) for f in dataclasses.fields(value)})
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, _TEXT_LIKE):
        return str(value)
    raise NotPlain(f"a value of type `{type(value).__qualname__}` has no plain form")


def _key(key: Any) -> str:
    text = plain(key)
    return text if isinstance(text, str) else str(text)
