"""Sources of CSV, JSON and Markdown files; tables and JSON become lines of text that name each value."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from crewgraph.knowledge.files import decode_text, display_name, read_or_fail
from crewgraph.knowledge.passage import Passage, markdown_sections
from crewgraph.knowledge.source.base import BaseFileKnowledgeSource
from crewgraph.schema import is_list, is_mapping


class CSVKnowledgeSource(BaseFileKnowledgeSource):
    """Tables: each row becomes a line that names its columns. The delimiter may be `,`, `;`, `|` or a tab."""

    source_type: Literal["csv"] = "csv"

    delimiter: str | None = None
    """The delimiter; None to detect it."""

    def read(self, data: bytes, file: Path) -> list[Passage]:
        """The rows of a file."""
        name = display_name(file, self.root)
        text = decode_text(data, name, self.encoding)
        return [Passage(read_or_fail("table", name, lambda: rows_as_text(rows_of_csv(text, self.delimiter))))]


class JSONKnowledgeSource(BaseFileKnowledgeSource):
    """JSON files, and those with a value on each line (JSONL): each value becomes a line with its path."""

    source_type: Literal["json"] = "json"

    def read(self, data: bytes, file: Path) -> list[Passage]:
        """The values in a file."""
        name = display_name(file, self.root)
        text = decode_text(data, name, self.encoding)
        return [Passage(read_or_fail("JSON", name, lambda: json_as_text(json_values(text))))]


class MarkdownKnowledgeSource(BaseFileKnowledgeSource):
    """Markdown files, split at their headings; results name their heading."""

    source_type: Literal["markdown"] = "markdown"

    def read(self, data: bytes, file: Path) -> list[Passage]:
        """The sections of a file."""
        return markdown_sections(decode_text(data, display_name(file, self.root), self.encoding))


_DELIMITERS = ",;\t|"
_SAMPLE_ROWS = 20


def delimiter_of(text: str) -> str:
    """Detect the delimiter: the one that splits the first rows into the most columns, the same number in each."""
    lines = text.splitlines()[: _SAMPLE_ROWS * 2]
    best, most = ",", 1
    for sign in _DELIMITERS:
        widths = [len(row) for row in csv.reader(lines, delimiter=sign) if row][:_SAMPLE_ROWS]
        if widths and min(widths) == max(widths) and widths[0] > most:
            best, most = sign, widths[0]
    return best


def rows_of_csv(text: str, delimiter: str | None = None) -> list[list[str]]:
    """Parse the rows of a table.

    Raises:
        csv.Error: it is malformed.
    """
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # the process's: raised only as far as this text needs
    return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter or delimiter_of(text)) if row]


def rows_as_text(rows: Iterable[Sequence[object]]) -> str:
    """A line for each row after the header row: `name: Bo, age: 5`; empty cells are left out."""
    lines: list[str] = []
    names: list[str] | None = None
    for row in rows:
        cells = ["" if cell is None else " ".join(str(cell).split()) for cell in row]
        if not any(cells):
            continue
        if names is None:
            names = cells
            continue
        lines.append(", ".join(_cell(names, at, cell) for at, cell in enumerate(cells) if cell))
    return "\n".join(lines) if lines else ", ".join(filter(None, names or []))


def _cell(names: Sequence[str], at: int, cell: str) -> str:
    name = names[at] if at < len(names) else ""
    return f"{name}: {cell}" if name else cell


def json_values(text: str) -> Any:
    """Parse JSON, or JSON Lines as a list.

    Raises:
        ValueError: it is malformed.
    """
    values: list[Any] = []
    text, end, decoder = text.rstrip(), 0, json.JSONDecoder()
    while end < len(text) or not values:
        while text[end : end + 1].isspace():
            end += 1
        value, end = decoder.raw_decode(text, end)
        values.append(value)
    return values if len(values) > 1 else values[0]


def json_as_text(value: Any) -> str:
    """A line for each value, with its path: `crew.members[0].name: Bo`."""
    return "\n".join(_value_lines(value, ""))


def _value_lines(value: Any, path: str) -> Iterator[str]:
    if is_mapping(value) and value:
        for name, item in value.items():
            yield from _value_lines(item, f"{path}.{name}" if path else str(name))
    elif is_list(value) and value:
        for number, item in enumerate(value):
            yield from _value_lines(item, f"{path}[{number}]")
    else:
        word = _WORDS.get(repr(value), str(value))
        yield f"{path}: {word}" if path else word


_WORDS = {"None": "none", "True": "true", "False": "false", "{}": "nothing", "[]": "nothing"}
