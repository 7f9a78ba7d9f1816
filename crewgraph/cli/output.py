"""Output of commands: texts and tables for people, JSON for programs.

All that a command prints goes through here, with control characters escaped: names, outputs and errors come from models.
"""

import codecs
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from io import TextIOWrapper
from typing import Annotated, Any, BinaryIO, TextIO

import typer

from crewgraph.errors import RunError
from crewgraph.text import json_text, printable, printable_line

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
"""The `--json` option."""

EXIT_PENDING = 3
"""Exit code of a run that still waits, or waits again, for an answer."""


_PIPED_WIDTH = 200  # cells; piped output must not be truncated to a terminal's width


def escape_unencodable() -> Callable[[], None]:
    r"""Write characters that the encoding of a standard stream lacks as escapes, such as `\xfc`; return how to undo it.

    Otherwise, a command that has finished its run would fail as it prints the output. In place of ASCII, the encoding of a
    program without a locale, UTF-8 is written, as Typer does.
    """
    streams: list[TextIOWrapper[BinaryIO]] = [one for one in (sys.stdout, sys.stderr) if isinstance(one, TextIOWrapper)]
    before = [(stream, stream.encoding, stream.errors) for stream in streams]
    for stream, encoding, _ in before:
        is_ascii = codecs.lookup(encoding).name == "ascii"
        stream.reconfigure(encoding="utf-8" if is_ascii else encoding, errors="backslashreplace")

    def undo() -> None:
        for stream, encoding, errors in before:
            stream.reconfigure(encoding=encoding, errors=errors)

    return undo


def print_text(text: str, *, err: bool = False) -> None:
    """Print a text of any number of lines."""
    typer.echo(printable(text), err=err)


def print_line(text: str, *, err: bool = False) -> None:
    """Print a text on one line, with line breaks in it escaped."""
    typer.echo(printable_line(text), err=err)


def print_error(error: object) -> None:
    """Print an error to standard error."""
    print_text(f"Error: {error}", err=True)


def report_lost_output(*, after_error: bool = False) -> bool:
    """Return whether standard output cannot be written, and print why; a reader that has left is no error to report.

    What is left of the output is dropped, since the interpreter would report it once more at its exit.

    Args:
        after_error: Whether an error may be that of a write: a stream without a buffer forgets it, so a line break is written.
    """
    stream: TextIO | None = sys.stdout
    if stream is None:  # closed before the command began
        return False
    try:
        if after_error:
            stream.write("\n")
        stream.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if not isinstance(error, BrokenPipeError):
            print_error(f"standard output cannot be written: {error.strerror}")
        return True
    return False


def print_source(text: str) -> None:
    """Print a program or a diff: exactly, if another program or a file takes it.

    Raises:
        RunError: The encoding of standard output lacks some of its characters.
    """
    if not _is_encodable(text) and not sys.stdout.isatty():
        raise RunError(
            f"the encoding of standard output, {sys.stdout.encoding}, lacks characters of the text; set PYTHONIOENCODING=utf-8"
        )
    typer.echo(printable(text) if sys.stdout.isatty() else text, nl=False)


def print_json(data: object) -> None:
    """Print data as JSON."""
    text = json_text(data, 2)
    typer.echo(text if _is_encodable(text) else json.dumps(json.loads(text), indent=2))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, no_wrap: Sequence[str] = ()) -> None:
    """Print a table.

    Args:
        columns: The column headers.
        rows: The cells of each row.
        no_wrap: Columns that are never wrapped, so that their values can be copied.
    """
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, pad_edge=False)
    for name in columns:
        table.add_column(name, no_wrap=name in no_wrap, overflow="fold")
    for row in rows:
        table.add_row(*map(_text, row))
    _console().print(table)


def print_fields(title: str, fields: Iterable[tuple[str, str]]) -> None:
    """Print a title, and below it one line for each name and value."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in fields:
        table.add_row(f"  {name}", _text(value))
    console = _console()
    console.print(_text(title), style="bold")
    console.print(table)


def _is_encodable(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _text(text: str) -> Any:
    from rich.text import Text

    return Text(printable(text))  # model output must not be parsed as Rich markup


def _console() -> Any:
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH, highlight=False)
