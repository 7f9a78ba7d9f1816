"""The list that `history` returns: the steps of a run, shown as a table."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar, Protocol, TypeVar

from crewgraph.definitions.html import html_table, text_table
from crewgraph.text import format_duration, printable_line

_MAX_CELL = 80


class _Step(Protocol):
    @property
    def created_at(self) -> datetime: ...


S = TypeVar("S", bound=_Step)


class StepTable(list[S]):
    """The steps of a stored run, oldest first; `print` and notebooks show them as a table."""

    _columns: ClassVar[Sequence[str]] = ()
    """The titles of the columns."""

    _numbers: ClassVar[int] = 2
    """How many columns from the right hold numbers."""

    def _rows(self) -> Iterator[Sequence[str]]:
        raise NotImplementedError

    def __str__(self) -> str:
        return text_table(self._columns, self._rows(), texts=len(self._columns) - self._numbers)

    def to_html(self) -> str:
        """Return the table as HTML."""
        return html_table(self._columns, self._rows(), texts=len(self._columns) - self._numbers)

    def _repr_html_(self) -> str:
        return self.to_html()

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text("[...]" if cycle else str(self))


def format_seconds_between(start: datetime | None, end: datetime) -> str:
    """Format the time between two steps for people; empty if there is none before."""
    return "" if start is None else format_duration(max(end - start, timedelta()))


def one_line(text: str, limit: int = _MAX_CELL) -> str:
    """Return a text as a cell of a table: on one line, at most `limit` characters."""
    line = printable_line(" ".join(text.split()))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
