"""A run as lines on a console: what `verbose=True` shows."""

import sys
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TextIO

from crewgraph.events import BaseEvent, EventBus
from crewgraph.observe.columns import Columns
from crewgraph.observe.excerpt import elided, excerpt, passage
from crewgraph.observe.line import Line
from crewgraph.observe.quiet import QUIET
from crewgraph.observe.stopwatch import Stopwatch, spoken
from crewgraph.observe.telling import tell
from crewgraph.observe.veil import Veil

__all__ = ["ConsoleListener"]


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
        shows: Callable[[Any, BaseEvent], bool] | None = None,
        within: Callable[[], str] | None = None,
        stream: TextIO | None = None,
    ) -> None:
        self._shows, self._within = shows, within
        self._stream = stream
        self._lock = threading.RLock()
        self._bus: EventBus | None = None
        self._veil = Veil()
        self._stopwatch = Stopwatch()
        self._columns = Columns(stream)

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

    def show(self, source: Any, event: BaseEvent) -> None:
        """Print an event, if it is one to be shown."""
        if QUIET.get() or (self._shows is not None and not self._shows(source, event)):
            return
        seen = tell(event)
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
_SHOWN = tuple(event_type for event_type in tell.registry if event_type is not object)
