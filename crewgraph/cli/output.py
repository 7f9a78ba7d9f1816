"""Output of commands: texts and tables for people, JSON for programs.

All that a command prints goes through here, with control characters escaped: names, outputs and errors come from models.
"""

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import typer

from crewgraph.lazy import lazy, lazy_module
from crewgraph.text import json_text, printable, printable_line

__all__ = [
    "EXIT_PENDING",
    "print_error",
    "print_fields",
    "print_json",
    "print_line",
    "print_source",
    "print_table",
    "print_text",
]

EXIT_PENDING = 3
"""Exit code of a run that still waits, or waits again, for an answer."""


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


def print_text(text: str, *, err: bool = False) -> None:
    """Print a text of any number of lines."""
    typer.echo(printable(text), err=err)


def print_line(text: str, *, err: bool = False) -> None:
    """Print a text on one line, with line breaks in it escaped."""
    typer.echo(printable_line(text), err=err)


def print_error(error: object) -> None:
    """Print an error to standard error."""
    print_text(f"Error: {error}", err=True)


def print_source(text: str) -> None:
    """Print a program or a diff: exactly, if another program or a file takes it."""
    typer.echo(printable(text) if sys.stdout.isatty() else text, nl=False)


def print_json(data: object) -> None:
    """Print data as JSON."""
    typer.echo(json_text(data, 2))


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
    return Text(printable(text))  # model output must not be parsed as Rich markup


def _console() -> "Console":
    return Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH, highlight=False)
