"""JSON as lines that each say where a value stands."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

__all__ = ["told_tree"]


def told_tree(value: Any) -> str:
    """A line for each value, with the way to it: `crew.members[0].name: Bo`."""
    return "\n".join(_lines(value, ""))


def _lines(value: Any, way: str) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        for name, one in cast(Mapping[str, Any], value).items():
            yield from _lines(one, f"{way}.{name}" if way else str(name))
    elif isinstance(value, list) and value:
        for number, one in enumerate(cast(list[Any], value)):
            yield from _lines(one, f"{way}[{number}]")
    else:
        told = _TOLD.get(repr(cast(Any, value)), str(cast(Any, value)))
        yield f"{way}: {told}" if way else told


_TOLD = {"None": "none", "True": "true", "False": "false", "{}": "nothing", "[]": "nothing"}
