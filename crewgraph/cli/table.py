"""What commands print: tables for people, JSON for programs."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import typer

from crewgraph.lazy import lazy, lazy_module

__all__ = ["print_fields", "print_json", "print_table"]


if TYPE_CHECKING:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text
else:
    Console = lazy("rich.console:Console")
    Table = lazy("rich.table:Table")
    Text = lazy("rich.text:Text")
    box = lazy_module("rich.box")

_WIDE = 200  # cells, where nobody looks: what is piped is not to be cut


def print_json(data: object) -> None:
    """Print data as JSON."""
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False, default=str))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, whole: Sequence[str] = ()) -> None:
    """Print rows below each other.

    Args:
        columns: their heads.
        rows: the texts in them.
        whole: columns that are never broken, as names are to be copied.
    """
    table = Table(box=box.SIMPLE, pad_edge=False)
    for name in columns:
        table.add_column(name, no_wrap=name in whole, overflow="fold")
    for row in rows:
        table.add_row(*map(_plain, row))
    _console().print(table)


def print_fields(title: str, fields: Iterable[tuple[str, str]]) -> None:
    """Print the fields of one thing, below its title."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in fields:
        table.add_row(f"  {name}", _plain(value))
    console = _console()
    console.print(_plain(title), style="bold")
    console.print(table)


def _plain(text: str) -> "Text":
    return Text(text)  # what models write is no markup


def _console() -> "Console":
    is_seen = sys.stdout.isatty()
    return Console(width=None if is_seen else _WIDE, highlight=False)
