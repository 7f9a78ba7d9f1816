"""The progress of long work, in one line: at a terminal on standard error, and in notebooks.

It is shown after a second, and removed at the end. Nothing is written unless standard error is a terminal.
"""

import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import copy_context
from typing import TextIO

from crewgraph.observe.notebook import UpdatedOutput, in_notebook
from crewgraph.settings import is_off
from crewgraph.text import printable

_DELAY = 1.0
_INTERVAL = 0.2
_CLEAR = "\r\x1b[K"
_drawing = threading.RLock()
_drawn: "set[ProgressLine]" = set()
"""The lines that a terminal shows."""


class ProgressLine:
    """The progress of some work; a context manager around it.

    Args:
        title: The name of the work.
        total: The number of units.
        unit: The name of the units, in the plural.
        stream: Where to show it; None does not.
        delay: Seconds before it is shown.
    """

    def __init__(self, title: str, total: int, unit: str, stream: TextIO | None = None, delay: float = _DELAY) -> None:
        self._title, self._total, self._unit = title, total, unit
        self._stream, self._delay = stream, delay
        self._done, self._started = 0, time.monotonic()
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._output: UpdatedOutput | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> "ProgressLine":
        self._started = time.monotonic()
        if self._stream is not None or in_notebook():
            self._thread = threading.Thread(
                target=copy_context().run, args=(self._show,), name="crewgraph-progress", daemon=True
            )
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self.erase()
            if self._output is not None:
                self._output.end()

    def advance(self) -> None:
        """Count one more unit as done."""
        with self._lock:
            self._done += 1
        if self._output is not None:
            self._output.changed()

    @property
    def line(self) -> str:
        """The line that is shown."""
        minutes, seconds = divmod(int(time.monotonic() - self._started), 60)
        took = f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
        return f"{self._title}: {self._done:,} of {self._total:,} {self._unit}, {took}"

    def erase(self) -> None:
        """Remove the line from the terminal, until it is drawn again."""
        with _drawing:
            if self in _drawn and self._stream is not None:
                self._stream.write(_CLEAR)
                self._stream.flush()
                _drawn.discard(self)

    def _show(self) -> None:
        if self._ended.wait(self._delay):
            return
        if self._stream is None:
            self._output = UpdatedOutput(lambda: {"text/plain": self.line})
            self._output.begin()
            return
        while True:
            with _drawing:
                if not _drawn - {self}:  # a line for the work around it
                    self._stream.write(f"{_CLEAR}{printable(self.line)}")
                    self._stream.flush()
                    _drawn.add(self)
            if self._ended.wait(_INTERVAL):
                return


def progress(title: str, total: int, unit: str, *, shown: bool = True) -> ProgressLine:
    """Return the progress of some work, to be entered while it lasts.

    Args:
        title: The name of the work, such as "Indexing knowledge".
        total: The number of units.
        unit: The name of the units, in the plural.
        shown: Whether to show it; False if progress is shown elsewhere.
    """
    if not shown or total < 2 or is_off("CREWGRAPH_PROGRESS"):
        return _Unshown(title, total, unit)
    return ProgressLine(title, total, unit, sys.stderr if _is_terminal(sys.stderr) else None)


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except (AttributeError, ValueError):  # replaced by an object that only has `write`, or closed
        return False


class _Unshown(ProgressLine):
    """A ProgressLine that is never shown."""

    def __enter__(self) -> "ProgressLine":
        return self


@contextmanager
def without_progress() -> Generator[None]:
    """Keep the terminal free of lines while a question is asked there."""
    with _drawing:
        for shown in [*_drawn]:
            shown.erase()
        yield
