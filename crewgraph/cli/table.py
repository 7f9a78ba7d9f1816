"""Output of commands: tables for people, JSON for programs."""

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

_PIPED_WIDTH = 200  # cells; piped output must not be truncated to a terminal's width


def print_json(data: object) -> None:
    """Print data as JSON."""
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False, default=str))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, no_wrap: Sequence[str] = ()) -> None:
    """Print a table.

    Args:
        columns: The column headers.
        rows: The cells of each row.
        no_wrap: Columns that are never wrapped, so that their values can be copied.
    """
    table = Table(box=box.SIMPLE, pad_edge=False)
    for name in columns:
        table.add_column(name, no_wrap=name in no_wrap, overflow="fold")
    for row in rows:
        table.add_row(*map(_text, row))
    _console().print(table)


def print_fields(title: str, fields: Iterable[tuple[str, str]]) -> None:
    """Print a title, and below it one line for each name and value."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in fields:
        table.add_row(f"  {name}", _text(value))
    console = _console()
    console.print(_text(title), style="bold")
    console.print(table)


def _text(text: str) -> "Text":
    return Text(text)  # model output must not be parsed as Rich markup


def _console() -> "Console":
    return Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH, highlight=False)
