"""A table on standard output."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from crewgraph.text import printable

__all__ = ["show"]


_WIDEST = 40


def show(
    title: str,
    names: int,
    heads: Sequence[str],
    parts: Sequence[Sequence[Sequence[str]]],
    below: str = "",
    *,
    whole: bool = False,
) -> None:
    """Print a table.

    Args:
        title: what stands above it.
        names: how many of the columns hold names; the others hold numbers.
        heads: the heads of the columns.
        parts: its rows, in parts that a line divides.
        below: what stands below it.
        whole: whether long texts are shown on several lines; else they are cut.
    """
    table = Table(title=Text(title), show_lines=whole)
    for number, head in enumerate(heads):
        table.add_column(head, justify="left" if number < names else "right")
    for rows in parts:
        table.add_section()
        for row in rows:
            table.add_row(*(Text(printable(cell) if whole else _short(cell)) for cell in row))
    console = Console()
    console.print(table)
    if below:
        console.print(Text(below))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WIDEST else f"{line[: _WIDEST - 1]}…"
