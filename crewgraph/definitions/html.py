"""Tables and texts of definitions and results, as HTML for notebooks and as text.

In HTML everything is escaped, and nothing is loaded from elsewhere.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from html import escape
from typing import Any, ClassVar, Protocol, TypeVar

from crewgraph.text import format_duration, printable_line

_CELL = "padding:2px 10px;vertical-align:top"
_TEXT_CELL = f"{_CELL};text-align:left;max-width:24em;overflow-wrap:break-word;unicode-bidi:plaintext"
_NUMBER_CELL = f"{_CELL};text-align:right;white-space:nowrap"
_TEXT = "white-space:pre-wrap;max-width:70em;max-height:30em;overflow:auto;overflow-wrap:anywhere"
_ANSWER = "max-width:70em;max-height:30em;overflow:auto;overflow-wrap:anywhere"
_TABLE = "width:max-content;table-layout:auto"  # scrolled rather than squeezed, where a notebook's cell is narrower
_SCROLLED = "overflow-x:auto"


def html_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int) -> str:
    """Return a table.

    Args:
        columns: The titles of the columns.
        rows: The cells, row by row.
        texts: How many columns from the left hold texts; the others hold numbers, which are aligned to the right.
    """

    def line(cells: Sequence[str], tag: str) -> str:
        styles = (_TEXT_CELL if number < texts else _NUMBER_CELL for number in range(len(cells)))
        inside = "".join(
            f'<{tag} style="{style}">{escape(cell)}</{tag}>' for cell, style in zip(cells, styles, strict=True)
        )
        return f"<tr>{inside}</tr>"

    body = "".join(line(row, "td") for row in rows)
    table = f'<table style="{_TABLE}"><thead>{line(columns, "th")}</thead><tbody>{body}</tbody></table>'
    return f'<div style="{_SCROLLED}">{table}</div>'


def html_section(title: str, text: str, below: str = "") -> str:
    """Return a titled text, with HTML below it."""
    return f'<div><strong>{escape(title)}</strong><div dir="auto" style="{_TEXT}">{escape(text)}</div>{below}</div>'


def html_answer(title: str, answer: str, below: str = "") -> str:
    """Return a titled answer of a model, which often is Markdown, with HTML below it; images, which load, are left as links."""
    from markdown_it import MarkdownIt

    text = MarkdownIt("js-default", {"breaks": True}).disable("image").render(answer)
    return f'<div><strong>{escape(title)}</strong><div dir="auto" style="{_ANSWER}">{text}</div>{below}</div>'


def text_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int) -> str:
    """Return a table as lines of text; see `html_table` for the arguments."""
    table = [columns, *rows]
    widths = [max(len(line[number]) for line in table) for number in range(len(columns))]

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell.ljust(width) if number < texts else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return "  ".join(padded).rstrip()

    return "\n".join(line(cells) for cells in table)


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


def one_line(text: str, limit: int = 80) -> str:
    """Return a text as a cell of a table: on one line, at most `limit` characters."""
    line = printable_line(" ".join(text.split()))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
