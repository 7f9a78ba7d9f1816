"""Rows of tables as texts that say what each value is."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["delimiter_of", "rows_of_csv", "told_rows"]

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
