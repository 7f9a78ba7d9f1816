"""Updates the differences that `crewgraph check` reports from `docs/differences.md`: `python -m moving.differences`.

The page is where they are written. What a program has to use for a row to be told stands in the data alone, as `of`; this
takes the rows' words over, keeps `of`, and lists rows that are new in `unseen`. For one of these to be told, people write an
entry with its `row` and `of`, empty words, and run this again.
"""

import json
import re
import tomllib
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from crewgraph_compat.moving.differences import DifferenceKind

__all__ = ["DATA", "PAGE", "Row", "data", "page_rows", "written"]

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "differences.md"
DATA = ROOT / "compat" / "crewgraph_compat" / "moving" / "differences.toml"

PARTS = {
    "May break your program": DifferenceKind.may_break,
    "Safer defaults": DifferenceKind.safer_default,
    "Improvements": DifferenceKind.improvement,
    "Coming from CrewAI 1.2": DifferenceKind.older,
}
"""The parts of the page, in its order."""

_WORDS = ("kind", "row", "theirs", "here", "to_do")
_HEAD = """\
# The rows of docs/differences.md that `crewgraph check` prints, and `of` which features. Made by `python -m moving.differences`.
#
#   Crew(memory=)       the keyword, unless it is False or None     Crew.kickoff         the attribute or method
#   Crew(memory=True)   the keyword with this value                 Crew.replay(inputs=) the method with this argument
#   Memory              the name                                    class(BaseLLM)       a class made of it
#   @listen             the decorator, without brackets             override Task.copy   a method of one's own in its place
#   await Flow.kickoff  the method, if it is awaited
#
# `certain` are those whose use alone makes the difference. What depends on more is printed by `crewgraph check --all` only.
"""


@dataclass(frozen=True)
class Row:
    """A row of the page."""

    kind: str
    row: str
    theirs: str
    here: str
    to_do: str = ""
    of: tuple[str, ...] = ()

    @property
    def words(self) -> "Row":
        """Return the row without the features that it applies to."""
        return replace(self, of=())


def page_rows() -> list[Row]:
    """The rows of the page."""
    parts = re.split(r"^## (.+)\n", PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]
    return [
        _row(PARTS[head], line)
        for head, text in zip(parts[::2], parts[1::2], strict=True)
        if head in PARTS
        for line in text.splitlines()
        if line.startswith("| ") and not line.startswith("| |")
    ]


def _row(kind: DifferenceKind, line: str) -> Row:
    cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    row, theirs, here, to_do = cells if len(cells) == 4 else (*cells, "")
    return Row(kind.value, row, theirs, here, to_do)


def data() -> tuple[list[Row], list[str]]:
    """The rows of the data, and the rows that nothing in a program's text tells."""
    table = tomllib.loads(DATA.read_text("utf-8"))
    rows: list[dict[str, Any]] = table["difference"]
    return [Row(*(one[name] for name in _WORDS), of=tuple(one["of"])) for one in rows], table["unseen"]


def certain() -> list[str]:
    """The features whose use alone makes a difference."""
    return list(tomllib.loads(DATA.read_text("utf-8"))["certain"])


def written(rows: list[Row], known: list[Row]) -> str:
    """Return the data for the rows of a page, keeping the known features."""
    exactly = {(one.row, one.here): one.of for one in known}
    named = {
        one.row: one.of for one in known
    }  # a row whose words were changed is the one with its name, if there is but one
    count = Counter(one.row for one in rows)
    reported = [
        replace(one, of=exactly.get((one.row, one.here), named.get(one.row, ()) if count[one.row] == 1 else ()))
        for one in rows
    ]
    unseen = "".join(f"  {_text(one.row)},\n" for one in reported if not one.of)
    told = {each for one in reported for each in one.of}
    sure = "".join(f"  {_text(one)},\n" for one in certain() if one in told)
    parts = [f"{_HEAD}\ncertain = [\n{sure}]\n\nunseen = [\n{unseen}]\n"]
    for one in (one for one in reported if one.of):
        listed = ", ".join(map(_text, one.of))
        words = "".join(f"{name} = {_text(getattr(one, name))}\n" for name in _WORDS)
        parts.append(f"[[difference]]\nof = [{listed}]\n{words}")
    return "\n".join(parts)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    DATA.write_text(written(page_rows(), data()[0]), "utf-8")
