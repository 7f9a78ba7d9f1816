"""The recordings and the table of differences are whole, and hold nobody's words but the programs' own."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from parity.compare import ASPECTS, NEW, OLD, differences, recording
from parity.model import literal
from parity.play import programs, source
from parity.test_parity import SAMPLE

HERE = Path(__file__).parent
PAGE = HERE.parent.parent / "docs" / "differences.md"
OURS = {"task", "started", "completed", "failed"}
"""The words that a trace puts in front of a task."""


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from texts(one)
    elif isinstance(value, dict):
        for key, one in cast("dict[str, Any]", value).items():
            yield key
            yield from texts(one)


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{3,}", text.lower()))


@pytest.mark.parametrize("program", programs())
def test_a_recording_is_there_and_holds_only_the_words_of_its_program(program: str):
    told = source(program).read_text("utf-8")
    assert ast.get_docstring(ast.parse(told))
    assert literal(source(program), "script") is not None
    recorded = recording(program)
    assert {OLD, NEW} <= set(recorded) <= {OLD, NEW, "crewgraph"}
    folder = source(program).parent
    beside = folder.rglob("*.yaml") if folder.name == program else ()
    own = words(" ".join([told, *(path.read_text("utf-8") for path in beside)])) | OURS
    sentences = [text for text in texts(recorded) if len(text.split()) > 3]
    assert [text for text in sentences if words(text) - own] == []


def test_no_recording_is_left_over():
    assert sorted(path.stem for path in (HERE / "recordings").glob("*.json")) == programs()


def test_the_table_of_differences_names_what_there_is():
    named = [where for one in differences() for where in one.where]
    assert len(named) == len(set(named))
    assert {where.partition(".")[0] for where in named} <= set(programs())
    assert {where.partition(".")[2] for where in named} <= {*ASPECTS, "*"}
    assert {one.relation for one in differences()} <= {OLD, "better", "bug", "missing"}
    assert [one for one in differences() if not one.is_fault and any(w.endswith("*") for w in one.where)] == []


def test_what_differs_on_purpose_is_told_on_the_page():
    lines = PAGE.read_text("utf-8").splitlines()
    untold = [
        one.row
        for one in differences()
        if not one.is_fault and not (one.row and any(line.startswith(one.row) for line in lines))
    ]
    assert untold == []


def test_the_sample_is_twenty_programs():
    assert len(SAMPLE) == len(set(SAMPLE)) == 20
    assert set(SAMPLE) <= set(programs())
