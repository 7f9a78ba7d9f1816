"""Convert the code cells of a notebook to one Python program, and back."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, cast

from crewgraph_compat.moving.reading.files import parse_python

_PYTHON_MAGICS = frozenset({"time", "timeit", "capture", "prun"})
"""Cell magics whose cell is Python."""

_MAGIC = re.compile(r"^(\s*+)([%!?].*|[\w.\[\]]++\?{1,2}|[\w, ]++=\s*+[%!].*)$")
_MASK = "#%%magic "
_MARK = "#%%cell "
_MASKED = re.compile(rf"pass  {_MASK}\d++")
_INDENTS: tuple[int | str | None, ...] = (1, 2, 4, 0, "\t", None)


@dataclass(frozen=True)
class NotebookCell:
    """A Python code cell."""

    number: int
    """Its index among all cells, from 0."""

    text: str


@dataclass
class Notebook:
    """A parsed notebook."""

    data: dict[str, Any]
    raw: str
    cells: list[NotebookCell]
    unread: list[tuple[int, str]]
    """Cells that are not valid Python: their numbers from 1, and why."""

    others: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    """Cells of other magics, such as `%%bash` and `%%writefile`: their numbers from 1, and their text."""

    masked: dict[str, str] = field(default_factory=dict[str, str])
    """Line magics by the comments that replace them in the program."""

    is_kept: bool = True
    """Whether unchanged parts are written back byte for byte."""

    @cached_property
    def program(self) -> str:
        """All Python cells as one program, with line magics replaced by comments."""
        parts = (f"{_MARK}{cell.number}\n{self._plain(cell.text)}" for cell in self.cells)
        return "".join(part if part.endswith("\n") else f"{part}\n" for part in parts)

    def cell_of(self, line: int) -> tuple[int, int]:
        """Return the cell (from 1) that contains a line of the program, and the line within the cell."""
        cell, start = 0, 0
        for number, content in enumerate(self.program.splitlines()[:line], 1):
            if content.startswith(_MARK):
                cell, start = int(content.removeprefix(_MARK)) + 1, number
        return cell, line - start

    def with_program(self, program: str) -> str | None:
        """Return the notebook's text with the cells taken from a program; None if no cell differs."""
        texts, differs = dict(_parted(program)), False
        for cell in self.cells:
            text = self._magic(texts[cell.number])
            text = text if cell.text.endswith("\n") else text.removesuffix("\n")
            if text != cell.text:
                value: Any = self.data["cells"][cell.number]
                value["source"] = text if isinstance(value["source"], str) else text.splitlines(keepends=True)
                differs = True
        return self._written() if differs else None

    def _plain(self, text: str) -> str:
        lines: list[str] = []
        for line in text.splitlines(keepends=True):
            bare = line.rstrip("\r\n")
            magic = _MAGIC.match(bare)
            if magic is None or not _is_magic(bare):
                lines.append(line)
                continue
            mask = f"{magic[1]}pass  {_MASK}{len(self.masked)}"
            self.masked[mask.strip()] = bare.removeprefix(magic[1])
            lines.append(mask + line[len(bare) :])
        return "".join(lines)

    def _magic(self, text: str) -> str:
        return _MASKED.sub(lambda mask: self.masked.get(mask[0], mask[0]), text)

    def _written(self) -> str:
        end = "\n" if self.raw.endswith("\n") else ""
        was: Any = json.loads(self.raw)
        for indent, ascii in product(_INDENTS, (False, True)):
            if json.dumps(was, indent=indent, ensure_ascii=ascii) + end == self.raw:
                return json.dumps(self.data, indent=indent, ensure_ascii=ascii) + end
        self.is_kept = False
        return json.dumps(self.data, indent=_INDENTS[0], ensure_ascii=False) + end


def read_notebook(raw: str) -> Notebook:
    """Parse a notebook from its JSON.

    Raises:
        ValueError: The text is not a notebook.
    """
    data: Any = json.loads(raw)
    if not isinstance(data, dict) or not isinstance(cast("dict[str, Any]", data).get("cells"), list):
        raise ValueError("the file is not a notebook: it has no cells")
    cells: list[NotebookCell] = []
    unread: list[tuple[int, str]] = []
    notebook = Notebook(cast("dict[str, Any]", data), raw, cells, unread)
    for number, value in enumerate(notebook.data["cells"]):
        if value.get("cell_type") != "code":
            continue
        source = value.get("source", "")
        text = source if isinstance(source, str) else "".join(source)
        first = text.lstrip().partition("\n")[0]
        if first.startswith("%%") and first[2:].split(" ")[0] not in _PYTHON_MAGICS:
            notebook.others.append((number + 1, text))
            continue
        try:
            parse_python(notebook._plain(text))  # pyright: ignore[reportPrivateUsage]
        except (SyntaxError, ValueError) as error:
            unread.append((number + 1, error.msg if isinstance(error, SyntaxError) else str(error)))
        else:
            cells.append(NotebookCell(number, text))
    notebook.masked.clear()
    return notebook


def _is_magic(line: str) -> bool:
    """Whether a line is IPython syntax, not Python."""
    try:
        parse_python(line.strip())
    except SyntaxError:
        return True
    return False


def _parted(program: str) -> Iterator[tuple[int, str]]:
    number, remaining = -1, list[str]()
    for line in program.splitlines(keepends=True):
        if line.startswith(_MARK):
            if number >= 0:
                yield number, "".join(remaining)
            number, remaining = int(line.removeprefix(_MARK)), []
        else:
            remaining.append(line)
    if number >= 0:
        yield number, "".join(remaining)
