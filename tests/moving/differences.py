"""The differences that `crewgraph check` tells, kept as `docs/differences.md` has them: `python -m moving.differences`.

The page is where they are written. What a program has to use for a row to be told stands in the data alone, as `of`; this
takes the rows' words over, keeps `of`, and puts rows that are new below `unseen`. For one of these to be told, people write an
entry with its `row` and `of`, empty words, and run this again.
"""

import json
import re
import tomllib
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

__all__ = ["DATA", "PAGE", "Row", "data", "page_rows", "written"]

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "differences.md"
DATA = ROOT / "compat" / "crewgraph_compat" / "moving" / "differences.toml"

_HEAD = """\
# What `crewgraph check` tells of a program, from docs/differences.md; `of` says of which. Made by `python -m moving.differences`.
#
#   Crew(memory=)       the keyword, unless it is False or None     Crew.kickoff         the attribute or method
#   Crew(memory=True)   the keyword with this value                 Crew.replay(inputs=) the method with this argument
#   Memory              the name                                    class(BaseLLM)       a class made of it
#   @listen             the decorator, without brackets             override Task.copy   a method of one's own in its place
"""


@dataclass(frozen=True)
class Row:
    """A row of the table of the page."""

    row: str
    old: str
    new: str
    here: str
    of: tuple[str, ...] = ()

    @property
    def words(self) -> "Row":
        """The row without what it is told of."""
        return replace(self, of=())


def page_rows() -> list[Row]:
    """The rows of the page."""
    text = PAGE.read_text("utf-8")
    table = text[text.index("## Behaviour") : text.index("More that is ours:")]
    cells = [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table.splitlines() if line[:2] == "| "
    ]
    rows = [_row([cell.replace("\\|", "|") for cell in row]) for row in cells[1:]]
    return [replace(one, new=one.old if one.new == "the same" else one.new) for one in rows]


def _row(cells: list[str]) -> Row:
    return Row(cells[0], cells[1], cells[2], cells[3])


def data() -> tuple[list[Row], list[str]]:
    """The rows of the data, and the rows that nothing in a program's text tells."""
    table = tomllib.loads(DATA.read_text("utf-8"))
    rows: list[dict[str, Any]] = table["difference"]
    return [Row(one["row"], one["old"], one["new"], one["here"], tuple(one["of"])) for one in rows], table["unseen"]


def written(rows: list[Row], known: list[Row]) -> str:
    """The data for the rows of a page, with what is known of them."""
    exactly = {(one.row, one.here): one.of for one in known}
    named = {
        one.row: one.of for one in known
    }  # a row whose words were changed is the one with its name, if there is but one
    count = Counter(one.row for one in rows)
    told = [
        replace(one, of=exactly.get((one.row, one.here), named.get(one.row, ()) if count[one.row] == 1 else ()))
        for one in rows
    ]
    unseen = "".join(f"  {_text(one.row)},\n" for one in told if not one.of)
    parts = [f"{_HEAD}\nunseen = [\n{unseen}]\n"]
    for one in (one for one in told if one.of):
        listed = ", ".join(map(_text, one.of))
        words = "".join(f"{name} = {_text(getattr(one, name))}\n" for name in ("row", "old", "new", "here"))
        parts.append(f"[[difference]]\nof = [{listed}]\n{words}")
    return "\n".join(parts)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    DATA.write_text(written(page_rows(), data()[0]), "utf-8")
