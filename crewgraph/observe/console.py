"""The console output of `verbose=True`.

`ConsoleListener` prints one line for each event: in colored columns on a terminal or in a notebook, as plain text elsewhere.
"""

import logging
import os
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from datetime import datetime, timedelta
from typing import TextIO

from rich.console import Console
from rich.containers import Lines
from rich.table import Table
from rich.text import Text

from crewgraph.events import BaseEvent, EventBus
from crewgraph.observe.event_lines import (
    LINES,
    Line,
    LineStatus,
    event_lines,
    truncate_block,
    truncate_line,
    truncate_name,
)
from crewgraph.redaction import SecretRedactor
from crewgraph.text import format_duration, printable, printable_line

_log = logging.getLogger(__name__)

_SCOPE_COLUMN = 20  # cells for the name of the task, crew or flow
_MIN_TEXT_COLUMN = 20  # cells for the text, even if the terminal is too narrow
_NOTEBOOK_WIDTH = 100  # cells; a notebook does not report its width
_MARKS = {
    LineStatus.START: ("▸", ">", "bold"),
    LineStatus.STEP: ("·", "-", "dim"),
    LineStatus.SUCCESS: ("✓", "+", "green"),
    LineStatus.WARNING: ("!", "!", "yellow"),
    LineStatus.ERROR: ("✗", "x", "red"),
}
_SCOPE_COLORS = ("cyan", "magenta", "blue", "green", "bright_cyan", "bright_magenta", "bright_blue", "yellow")


class ConsoleColumns:
    """Prints lines in columns: scope, rule, status mark and text; each scope has its own color."""

    def __init__(self, stream: TextIO | None) -> None:
        self._console = _make_console(stream)
        self._colors: dict[str, str] = {}

    @property
    def is_interactive(self) -> bool:
        """Whether the stream is a terminal or a notebook, which can show columns and colors."""
        return self._console.is_terminal

    def show(self, scope: str, title: str, text: str, body: str, status: LineStatus) -> None:
        """Print a line with its body below it."""
        mark, plain_mark, style = _MARKS[status]
        plain = self._console.options.ascii_only
        color = self._colors.setdefault(scope, _SCOPE_COLORS[len(self._colors) % len(_SCOPE_COLORS)])
        name = Text(scope, color, no_wrap=True)
        name.truncate(_SCOPE_COLUMN, overflow="ellipsis", pad=True)
        rule = Text("|" if plain else "│", "dim")
        message = Text.assemble((title, style), "  " if text else "", text)
        marker = Text(plain_mark if plain else mark, style)
        paragraphs = [message, *(Text(line) for line in body.split("\n"))] if body else [message]
        rows: list[Text] = []
        for content in (row for paragraph in paragraphs for row in self._wrap(paragraph)):
            rows.append(Text(" ").join((name, rule, marker, content)))
            rows[-1].rstrip()
            name, marker = Text(" " * _SCOPE_COLUMN), Text(" ")
        self._console.print(Text("\n").join(rows), soft_wrap=True)

    def _wrap(self, text: Text) -> Lines:
        width = max(_MIN_TEXT_COLUMN, self._console.width - _SCOPE_COLUMN - len(" │ · "))
        return text.wrap(self._console, width, overflow="fold")


def _make_console(stream: TextIO | None) -> Console:
    color_system = None if os.environ.get("NO_COLOR") else "auto"
    if stream is None and Console().is_jupyter:
        # As terminal text, because a notebook renders each of rich's own objects as a separate block, with gaps.
        jupyter_colors = None if color_system is None else "standard"
        return Console(force_jupyter=False, force_terminal=True, width=_NOTEBOOK_WIDTH, color_system=jupyter_colors)
    return Console(file=stream, color_system=color_system, force_jupyter=False)


class Stopwatch:
    """Measures durations between start and end events.

    Concurrent runs of one definition share their keys. It is then unknown which of them ended, so no duration is given.
    """

    def __init__(self) -> None:
        self._starts: defaultdict[Hashable, list[datetime | None]] = defaultdict(list)

    def start(self, key: Hashable, at: datetime) -> None:
        """Record a start."""
        self._starts[key].append(at)

    def stop(self, key: Hashable, at: datetime) -> timedelta | None:
        """Record an end, and return the time since the start; None if unknown."""
        starts = self._starts.pop(key, [])
        if len(starts) > 1:
            self._starts[key] = [None] * (len(starts) - 1)
            return None
        return at - starts[0] if starts and starts[0] is not None else None


_printing = threading.RLock()  # one for all listeners, as they share the stream, and lines must not be torn


def _renew_printing() -> None:
    """Renew the lock: a thread of the parent may have been waiting for a slow stream."""
    global _printing
    _printing = threading.RLock()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_renew_printing)


class ConsoleListener:
    """Prints the events of crews and flows, one line each.

    On a terminal and in a notebook the lines are colored and aligned in columns; `NO_COLOR` is respected. Elsewhere (a pipe,
    a file, CI) they are plain text in a stable format: `[task] event (duration): text`.

    Long texts are truncated, with the number of characters left out. Control characters are escaped. Values of environment
    variables that hold secrets, and arguments named like secrets, are redacted.

    Args:
        shows: Predicate on source and event that selects what is printed; None prints all events.
        within: Returns what encloses an event, such as the methods of flows, as a prefix of its scope.
        stream: Where to print; None for the `sys.stdout` of the moment.
    """

    def __init__(
        self,
        *,
        shows: Callable[[object, BaseEvent], bool] | None = None,
        within: Callable[[object, BaseEvent], str] | None = None,
        stream: TextIO | None = None,
    ) -> None:
        self._shows, self._within = shows, within
        self._stream = stream
        self._bus: EventBus | None = None
        self._redactor = SecretRedactor()
        self._stopwatch = Stopwatch()
        self._columns = ConsoleColumns(stream)
        self._broken: TextIO | None = None
        """The stream that could not be written; events are not printed to it any more."""

    def attach(self, bus: EventBus) -> None:
        """Start listening to a bus, instead of the previous one."""
        self.detach()
        self._bus = bus
        for event_type in LINES:
            bus.register_handler(event_type, self.show, alone=True)

    def detach(self) -> None:
        """Stop listening; does nothing if not attached."""
        if self._bus is not None:
            for event_type in LINES:
                self._bus.off(event_type, self.show)
            self._bus = None

    def show(self, source: object, event: BaseEvent) -> None:
        """Print an event if it is selected and has a line."""
        stream = self._stream or sys.stdout
        if stream is None or stream is self._broken:  # a program without a console has no `sys.stdout`
            return
        if self._shows is not None and not self._shows(source, event):
            return
        line = event_lines(event)
        if line is None:
            return
        scope = self._scope_name(line.scope, self._within(source, event) if self._within is not None else "")
        title = truncate_name(self._encodable(line.title), _TITLE_LIMIT)
        text = truncate_line(self._encodable(line.text), line.limit)
        body = truncate_block(self._encodable(line.body), line.body_limit)
        with _printing:
            duration = self._duration(line, event)
            heading = title + (f" ({format_duration(duration)})" if duration is not None else "")
            try:
                if self._columns.is_interactive:
                    self._columns.show(scope, heading, text, body, line.status)
                else:
                    self._write(stream, scope, heading, text, body)
            except (OSError, ValueError) as error:
                if isinstance(error, ValueError) and not getattr(stream, "closed", False):
                    raise
                self._broken = stream
                _log.warning("the events of the run cannot be shown any longer, the run continues: %s", error)

    def _scope_name(self, scope: str, enclosing: str) -> str:
        if not enclosing:
            return truncate_name(self._encodable(scope), _SCOPE_LIMIT)
        is_nested = enclosing.rpartition(" > ")[2] != scope  # otherwise the event is the enclosing method's own
        name = printable_line(self._encodable(f"{enclosing} > {scope}" if is_nested else enclosing))
        limit = _SCOPE_LIMIT_IN_COLUMNS if self._columns.is_interactive else _SCOPE_LIMIT
        return name if len(name) <= limit else f"…{name[1 - limit :]}"

    def _duration(self, line: Line, event: BaseEvent) -> timedelta | None:
        if line.starts is not None:
            self._stopwatch.start(line.starts, event.timestamp)
        if line.ends is not None:
            return self._stopwatch.stop(line.ends, event.timestamp)
        return line.duration

    def _write(self, stream: TextIO, scope: str, heading: str, text: str, body: str) -> None:
        lines = [f"[{scope}] {heading}: {text}" if text else f"[{scope}] {heading}"]
        lines += [f"[{scope}] | {line}".rstrip() for line in body.split("\n")] if body else []
        stream.write("".join(f"{line}\n" for line in lines))
        if hasattr(stream, "flush"):  # a page's own object may have only `write`, as `print` needs
            stream.flush()

    def _encodable(self, text: str) -> str:
        """Redact secrets, and escape the characters that the stream cannot encode."""
        encoding = getattr(self._stream or sys.stdout, "encoding", None) or "utf-8"  # a StringIO has none
        return self._redactor.redact(text).encode(encoding, "backslashreplace").decode(encoding)


_SCOPE_LIMIT = 60
_SCOPE_LIMIT_IN_COLUMNS = 20
_TITLE_LIMIT = 80


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
