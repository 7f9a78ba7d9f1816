"""Tables and JSON as lines of text that name each value."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from crewgraph.schema import PlainMapping

__all__ = ["delimiter_of", "json_as_text", "rows_as_text", "rows_of_csv"]


_DELIMITERS = ",;\t|"
_SAMPLE_ROWS = 20


def delimiter_of(text: str) -> str:
    """Detect the delimiter: the one that splits the first rows into the most columns, the same number in each."""
    lines = text.splitlines()[: _SAMPLE_ROWS * 2]
    best, most = ",", 1
    for sign in _DELIMITERS:
        widths = [len(row) for row in csv.reader(lines, delimiter=sign) if row][:_SAMPLE_ROWS]
        if widths and min(widths) == max(widths) and widths[0] > most:
            best, most = sign, widths[0]
    return best


def rows_of_csv(text: str, delimiter: str | None = None) -> list[list[str]]:
    """Parse the rows of a table.

    Raises:
        csv.Error: it is malformed.
    """
    return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter or delimiter_of(text)) if row]


def rows_as_text(rows: Iterable[Sequence[object]]) -> str:
    """A line for each row after the header row: `name: Bo, age: 5`; empty cells are left out."""
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


def json_as_text(value: Any) -> str:
    """A line for each value, with its path: `crew.members[0].name: Bo`."""
    return "\n".join(_lines(value, ""))


def _lines(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        for name, item in cast(PlainMapping, value).items():
            yield from _lines(item, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list) and value:
        for number, item in enumerate(cast(list[Any], value)):
            yield from _lines(item, f"{path}[{number}]")
    else:
        word = _WORDS.get(repr(cast(Any, value)), str(cast(Any, value)))
        yield f"{path}: {word}" if path else word


_WORDS = {"None": "none", "True": "true", "False": "false", "{}": "nothing", "[]": "nothing"}
