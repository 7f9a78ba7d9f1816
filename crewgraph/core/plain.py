"""Plain data: the values that the journal stores and bodies see, the same live, recorded and replayed."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time
from enum import Enum
from math import isfinite
from typing import Any, cast

from pydantic import BaseModel

from crewgraph.text import json_text

_DEEPEST = 100
_DEEPEST_PART = 80
"""For what a model wrote, which becomes a part of records and requests."""
_INT_LIMIT = 1 << 63


class NotPlain(TypeError, ValueError):
    """A value has no plain form. The message continues a sentence that names the value: "... is bytes, which ..."."""


class SteersGraph(NotPlain):
    """A value is a LangGraph `Command` or `Send`, which would steer a graph."""


def unstorable(written: object, *, exact: bool = False) -> str | None:
    """Return why data that a model wrote can be neither stored nor sent back: "it is nested ..."; None if it can be.

    Args:
        written: The data, of any depth.
        exact: Whether numbers are to stay numbers; `plain` makes texts of whole numbers of more than 64 bits.
    """
    level: list[object] = [written]
    for _ in range(_DEEPEST_PART):
        below: list[object] = []
        for value in level:
            if isinstance(value, Mapping):
                entries = cast("Mapping[object, object]", value)
                names = {str(key).encode("utf-16", "surrogatepass").decode("utf-16", "replace") for key in entries}
                if len(names) < len(entries):
                    return "it has names that are the same once they are stored"
                below.extend(entries.values())
            elif isinstance(value, (list, tuple)):
                below.extend(cast("Sequence[object]", value))
            elif isinstance(value, float) and not isfinite(value):
                return f"it holds {value}, which is not JSON"
            elif exact and isinstance(value, int) and not -_INT_LIMIT <= value < _INT_LIMIT:
                return "it holds a whole number of more than 64 bits"
        if not below:
            return None
        level = below
    return f"it is nested more than {_DEEPEST_PART} deep"


def plain(value: Any) -> Any:
    """Convert a value to str, int, float, bool, None, or lists and dicts of these.

    Tuples and sets become lists (sets sorted), pydantic models and dataclasses dicts, enums their values, dates
    ISO texts. Whole numbers of more than 64 bits become texts, since records cannot hold them. Anything else
    becomes its `__str__` text.

    Raises:
        NotPlain: It is bytes, an object without a text, or contains itself.
    """
    return _plain(value, 0)


def answer_text(result: Any) -> str:
    """Return the result of a run as the text of a message: that of an output, a text as it is, anything else as JSON.

    Raises:
        NotPlain: It has no plain form.
    """
    text: object = getattr(result, "raw", result)
    return text if isinstance(text, str) else json_text(plain(text))


def _plain(value: Any, depth: int) -> object:
    if value is None or value is True or value is False or (type(value) is str and value.isascii()):
        return value
    if depth > _DEEPEST:
        raise NotPlain(f"data that is nested more than {_DEEPEST} deep, or contains itself.")
    if isinstance(value, Enum):
        return _plain(value.value, depth + 1)
    if isinstance(value, (str, int, float)):
        return _plain_scalar(value)
    if isinstance(value, BaseModel):
        return _plain(value.model_dump(mode="json"), depth + 1)
    if is_dataclass(value) and not isinstance(value, type):
        _refuse_graph_commands(value)
        return _plain_mapping({f.name: getattr(value, f.name) for f in fields(value)}, depth)
    if isinstance(value, Mapping):
        return _plain_mapping(cast(Mapping[Any, Any], value), depth)
    return _items(value, depth)


def _refuse_graph_commands(value: object) -> None:
    if type(value).__module__.startswith("langgraph."):
        raise SteersGraph(
            f"a LangGraph `{type(value).__name__}`, but what runs inside an agent cannot steer the graph around it. Return "
            "the data itself."
        )


def _plain_scalar(value: str | int | float) -> object:
    if isinstance(value, str):
        text = str.__str__(value)
        # A lone half of a surrogate pair (an undecodable file name) cannot be stored or sent.
        return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, int):
        number = int(value)
        return number if -_INT_LIMIT <= number < _INT_LIMIT else _digits(number)
    return float(value)


def _digits(number: int) -> str:
    try:
        return str(number)
    except ValueError:  # more digits than Python likes to write
        return hex(number)


def _plain_mapping(value: Mapping[Any, Any], depth: int) -> dict[str, object]:
    result = {_key(key, depth): _plain(item, depth + 1) for key, item in value.items()}
    if len(result) != len(value):
        raise NotPlain("a dict with keys that are the same once they are text.")
    return result


def _key(key: Any, depth: int) -> str:
    text = _plain(key, depth + 1)
    return text if isinstance(text, str) else str(text)


def _items(value: Any, depth: int) -> object:
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise NotPlain(
            "bytes, which no model can read and no record keeps as they are. Use text: decode them, or write a file and "
            "use its path."
        )
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, Set):
        items = [_plain(item, depth + 1) for item in cast(Iterable[Any], value)]
        return sorted(items, key=lambda item: (type(item).__name__, repr(item)))
    if isinstance(value, Sequence):
        return [_plain(item, depth + 1) for item in cast(Sequence[Any], value)]
    if type(value).__str__ is not object.__str__ and not isinstance(value, type):
        return _plain_scalar(str(value))
    raise NotPlain(
        f"an object of type `{type(value).__qualname__}`, which is neither data nor has a text. Use a str, a number, a "
        "list, a dict or a pydantic model."
    )
