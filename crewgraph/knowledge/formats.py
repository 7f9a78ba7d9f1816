"""Rows of tables as texts that say what each value is.

JSON as lines that each say where a value stands.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

__all__ = ["delimiter_of", "rows_of_csv", "told_rows", "told_tree"]


_DELIMITERS = ",;\t|"
_LOOKED_AT = 20


def delimiter_of(text: str) -> str:
    """What separates the columns: that which gives the most of them, the same number in the first rows."""
    lines = text.splitlines()[: _LOOKED_AT * 2]
    best, most = ",", 1
    for sign in _DELIMITERS:
        widths = [len(row) for row in csv.reader(lines, delimiter=sign) if row][:_LOOKED_AT]
        if widths and min(widths) == max(widths) and widths[0] > most:
            best, most = sign, widths[0]
    return best


def rows_of_csv(text: str, delimiter: str | None = None) -> list[list[str]]:
    """The rows of a table.

    Raises:
        csv.Error: it is none.
    """
    return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter or delimiter_of(text)) if row]


def told_rows(rows: Iterable[Sequence[Any]]) -> str:
    """A line for each row but the first, which names the columns: `name: Bo, age: 5`; empty cells are left out."""
    lines: list[str] = []
    names: list[str] | None = None
    for row in rows:
        cells = ["" if cell is None else " ".join(str(cell).split()) for cell in row]
        if not any(cells):
            continue
        if names is None:
            names = cells
            continue
        lines.append(", ".join(_cell(names, at, cell) for at, cell in enumerate(cells) if cell))
    return "\n".join(lines) if lines else ", ".join(filter(None, names or []))


def _cell(names: Sequence[str], at: int, cell: str) -> str:
    name = names[at] if at < len(names) else ""
    return f"{name}: {cell}" if name else cell


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
