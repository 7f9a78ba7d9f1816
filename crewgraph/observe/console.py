"""A run as lines on a console: what `verbose=True` shows.

Lines laid out in columns and colours, for a terminal or a notebook.

How long things take, told from the events at their ends.

Whether the runs of a context stay off the console, whatever `verbose` says.
"""

import os
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Hashable
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import TextIO

from rich.console import Console
from rich.containers import Lines
from rich.text import Text

from crewgraph.events import BaseEvent, EventBus
from crewgraph.observe.event_lines import Line, Mood, elided, event_lines, excerpt, passage
from crewgraph.observe.redaction import Veil

__all__ = ["QUIET", "ConsoleColumns", "ConsoleListener", "Stopwatch", "spoken"]


_COLUMNS_WHERE = 20  # cells for the name of the task
_NARROWEST = 20  # cells for what happened, even where the terminal is too narrow
_NOTEBOOK = 100  # cells: a notebook does not tell its width
_MARKS = {
    Mood.START: ("▸", ">", "bold"),
    Mood.STEP: ("·", "-", "dim"),
    Mood.GOOD: ("✓", "+", "green"),
    Mood.WARNING: ("!", "!", "yellow"),
    Mood.BAD: ("✗", "x", "red"),
}
_NAMES = ("cyan", "magenta", "blue", "green", "bright_cyan", "bright_magenta", "bright_blue", "yellow")


class ConsoleColumns:
    """Prints lines as: name of the task, a rule, a mark, what happened; each task in a colour of its own."""

    def __init__(self, stream: TextIO | None) -> None:
        self._console = _console(stream)
        self._colours: dict[str, str] = {}

    @property
    def fit(self) -> bool:
        """Whether somebody looks who sees columns and colours: a terminal or a notebook."""
        return self._console.is_terminal

    def show(self, where: str, head: str, text: str, body: str, mood: Mood) -> None:
        """Print one line, and its body below it."""
        mark, plain_mark, style = _MARKS[mood]
        plain = self._console.options.ascii_only
        colour = self._colours.setdefault(where, _NAMES[len(self._colours) % len(_NAMES)])
        name = Text(where, colour, no_wrap=True)
        name.truncate(_COLUMNS_WHERE, overflow="ellipsis", pad=True)
        rule = Text("|" if plain else "│", "dim")
        told = Text.assemble((head, style), "  " if text else "", text)
        beside = Text(plain_mark if plain else mark, style)
        paragraphs = [told, *(Text(one) for one in body.split("\n"))] if body else [told]
        rows: list[Text] = []
        for content in (row for paragraph in paragraphs for row in self._wrapped(paragraph)):
            rows.append(Text(" ").join((name, rule, beside, content)))
            rows[-1].rstrip()
            name, beside = Text(" " * _COLUMNS_WHERE), Text(" ")
        self._console.print(Text("\n").join(rows), soft_wrap=True)

    def _wrapped(self, text: Text) -> Lines:
        width = max(_NARROWEST, self._console.width - _COLUMNS_WHERE - len(" │ · "))
        return text.wrap(self._console, width, overflow="fold")


def _console(stream: TextIO | None) -> Console:
    colours = None if os.environ.get("NO_COLOR") else "auto"
    if stream is None and Console().is_jupyter:
        # As terminal text: a notebook shows rich's own objects as one block a line, with gaps between them.
        system = None if colours is None else "standard"
        return Console(force_jupyter=False, force_terminal=True, width=_NOTEBOOK, color_system=system)
    return Console(file=stream, color_system=colours, force_jupyter=False)


class Stopwatch:
    """Knows when what is under way began.

    Runs of one definition at the same time have the same keys. Which of them ends is then not known, so
    nothing is said about how long it took.
    """

    def __init__(self) -> None:
        self._began: defaultdict[Hashable, list[datetime | None]] = defaultdict(list)

    def start(self, key: Hashable, at: datetime) -> None:
        """Note that something begins."""
        self._began[key].append(at)

    def stop(self, key: Hashable, at: datetime) -> timedelta | None:
        """Note that something ends; how long it took, None where that is not known."""
        began = self._began.pop(key, [])
        if len(began) > 1:
            self._began[key] = [None] * (len(began) - 1)
            return None
        return at - began[0] if began and began[0] is not None else None


def spoken(duration: timedelta) -> str:
    """A duration as people say it: `40 ms`, `3.2 s`, `2 min 05 s`."""
    seconds = duration.total_seconds()
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s"


QUIET: ContextVar[bool] = ContextVar("crewgraph_quiet_console", default=False)
"""Whether they do."""


class ConsoleListener:
    """Prints what happens in crews and flows, each thing on a line with the task it belongs to.

    On a terminal and in a notebook the lines are coloured and laid out in columns; `NO_COLOR` is honoured.
    Anywhere else (a pipe, a file, CI) they are plain and stable: `[task] what happened (how long): text`.

    Long texts are cut and say by how much. Control characters are shown, not obeyed. Values of environment
    variables that hold secrets, and arguments named like secrets, are covered.

    Args:
        shows: which events, of which sources, are printed; all where it is not given.
        within: what the event that is being told of is a part of, to stand before its name; nothing where it is not given.
        stream: where to print; standard output, as it is when a line is printed, where it is not given.
    """

    def __init__(
        self,
        *,
        shows: Callable[[object, BaseEvent], bool] | None = None,
        within: Callable[[], str] | None = None,
        stream: TextIO | None = None,
    ) -> None:
        self._shows, self._within = shows, within
        self._stream = stream
        self._lock = threading.RLock()
        self._bus: EventBus | None = None
        self._veil = Veil()
        self._stopwatch = Stopwatch()
        self._columns = ConsoleColumns(stream)

    def attach(self, bus: EventBus) -> None:
        """Begin to listen to a bus; one it listened to before is left."""
        self.detach()
        self._bus = bus
        for event_type in _SHOWN:
            bus.register_handler(event_type, self.show, alone=True)

    def detach(self) -> None:
        """Listen no longer; nothing happens where it does not listen."""
        if self._bus is not None:
            for event_type in _SHOWN:
                self._bus.off(event_type, self.show)
            self._bus = None

    def show(self, source: object, event: BaseEvent) -> None:
        """Print an event, if it is one to be shown."""
        if QUIET.get() or (self._shows is not None and not self._shows(source, event)):
            return
        seen = event_lines(event)
        if seen is None:
            return
        where = self._named(seen.where)
        what = elided(self._writable(seen.what), _WHAT)
        text = excerpt(self._writable(seen.text), seen.limit)
        body = passage(self._writable(seen.body), seen.body_limit)
        with self._lock:
            took = self._took(seen, event)
            head = what + (f" ({spoken(took)})" if took is not None else "")
            if self._columns.fit:
                self._columns.show(where, head, text, body, seen.mood)
            else:
                self._write(where, head, text, body)

    def _named(self, where: str) -> str:
        around = self._within() if self._within is not None else ""
        if not around:
            return elided(self._writable(where), _WHERE)
        inside = around.rpartition(" > ")[2] != where  # else it is the method itself that tells
        whole = self._writable(f"{around} > {where}" if inside else around)
        most = _NARROW if self._columns.fit else _WHERE
        return whole if len(whole) <= most else f"…{whole[1 - most :]}"

    def _took(self, seen: Line, event: BaseEvent) -> timedelta | None:
        if seen.begins is not None:
            self._stopwatch.start(seen.begins, event.timestamp)
        if seen.ends is not None:
            return self._stopwatch.stop(seen.ends, event.timestamp)
        return seen.took

    def _write(self, where: str, head: str, text: str, body: str) -> None:
        lines = [f"[{where}] {head}: {text}" if text else f"[{where}] {head}"]
        lines += [f"[{where}] | {one}".rstrip() for one in body.split("\n")] if body else []
        stream = self._stream or sys.stdout
        stream.write("".join(f"{one}\n" for one in lines))
        stream.flush()

    def _writable(self, text: str) -> str:
        """The text without secrets, and with escapes for what the stream cannot encode."""
        encoding = getattr(self._stream or sys.stdout, "encoding", None) or "utf-8"  # a StringIO has none
        return self._veil.over(text).encode(encoding, "backslashreplace").decode(encoding)


_WHERE = 60
_NARROW = 20
_WHAT = 80
_SHOWN = tuple(event_type for event_type in event_lines.registry if event_type is not object)
