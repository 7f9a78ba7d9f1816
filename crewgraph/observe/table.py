"""Tables on standard output."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from crewgraph.text import printable

__all__ = ["show_table"]


_MAX_CELL = 40


def show_table(
    title: str,
    name_columns: int,
    headers: Sequence[str],
    sections: Sequence[Sequence[Sequence[str]]],
    caption: str = "",
    *,
    wrap: bool = False,
) -> None:
    """Print a table.

    Args:
        title: The title above the table.
        name_columns: How many columns, from the left, hold names; the others hold numbers.
        headers: The column headers.
        sections: Groups of rows, separated by lines.
        caption: A text below the table.
        wrap: Whether long texts are wrapped instead of truncated.
    """
    table = Table(title=Text(printable(title)), show_lines=wrap)
    for number, header in enumerate(headers):
        table.add_column(header, justify="left" if number < name_columns else "right")
    for rows in sections:
        table.add_section()
        for row in rows:
            table.add_row(*(Text(printable(cell) if wrap else _cell_text(cell)) for cell in row))
    console = Console()
    console.print(table)
    if caption:
        console.print(Text(printable(caption)))


def _cell_text(text: str) -> str:
    line = " ".join(printable(text).split())
    return line if len(line) <= _MAX_CELL else f"{line[: _MAX_CELL - 1]}…"
