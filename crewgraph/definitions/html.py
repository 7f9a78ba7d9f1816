"""Tables and texts of results as HTML for notebooks; everything is escaped, and nothing is loaded from elsewhere."""

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["html_section", "html_table"]

_CELL = "padding:2px 10px;vertical-align:top;text-align:"
_TEXT = "white-space:pre-wrap;max-width:70em"


def html_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int) -> str:
    """Return a table.

    Args:
        columns: The titles of the columns.
        rows: The cells, row by row.
        texts: How many columns from the left hold texts; the others hold numbers, which are aligned to the right.
    """

    def line(cells: Sequence[str], tag: str) -> str:
        sides = ("left" if number < texts else "right" for number in range(len(cells)))
        inside = "".join(
            f'<{tag} style="{_CELL}{side}">{escape(cell)}</{tag}>' for cell, side in zip(cells, sides, strict=True)
        )
        return f"<tr>{inside}</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f"<table><thead>{line(columns, 'th')}</thead><tbody>{body}</tbody></table>"


def html_section(title: str, text: str, below: str = "") -> str:
    """Return a titled text, with HTML below it."""
    return f'<div><strong>{escape(title)}</strong><div style="{_TEXT}">{escape(text)}</div>{below}</div>'
