"""The recordings and the table of differences are whole, and hold nobody's words but the programs' own."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from parity.compare import ASPECTS, NEW, OLD, differences, recording
from parity.model import literal
from parity.run_program import programs, source
from parity.test_parity import SAMPLE
from parity.trace import PHRASES

HERE = Path(__file__).parent
PAGE = HERE.parent.parent / "docs" / "differences.md"
OURS = {
    *("task", "started", "completed", "failed", "true", "false", "none", "invalid", "enum"),
    *("role", "content", "name", "user", "assistant", "private", "public"),
}
"""The words that a trace puts in front of a task, those of Python, codes of faults, and the names of parts of messages."""

_NAMES = re.compile(r"\w*_\w*|\b[A-Z][a-z]+[A-Z]\w*")
"""Names of classes and codes: they are public."""


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
    return set(re.findall(r"[a-z]{3,}", _NAMES.sub(" ", text).lower()))


def own_words(program: str) -> set[str]:
    file = source(program)
    tree = ast.parse(file.read_text("utf-8"))
    reported = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    reported += [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
    beside = file.parent.rglob("*.yaml") if file.name == "main.py" else ()
    return words(" ".join([*reported, *PHRASES, *(path.read_text("utf-8") for path in beside)])) | OURS


def test_a_recording_is_there_and_holds_only_the_words_of_its_program():
    faults = {program: fault for program in programs() if (fault := fault_of_recording(program))}
    assert faults == {}


def fault_of_recording(program: str) -> object:
    """What is wrong with the recording of a program, or nothing."""
    if not ast.get_docstring(ast.parse(source(program).read_text("utf-8"))):
        return "the program has no docstring"
    if literal(source(program), "script") is None:
        return "the program has no script"
    recorded = recording(program)
    if not {OLD, NEW} <= set(recorded) <= {OLD, NEW, "crewgraph"}:
        return f"the recordings are of {sorted(recorded)}"
    own = own_words(program)
    sentences = [text for text in texts(recorded) if len(text.split()) > 3]
    return {text: strange for text in sentences if (strange := words(text) - own)}


def test_no_recording_is_left_over():
    assert sorted(path.stem for path in (HERE / "recordings").glob("*.json")) == programs()


def test_the_table_of_differences_names_what_there_is():
    named = [where for one in differences() for where in one.where]
    assert len(named) == len(set(named))
    assert {where.partition(".")[0] for where in named} <= set(programs())
    assert {where.partition(".")[2] for where in named} <= {*ASPECTS, "*"}
    assert {one.relation for one in differences()} <= {OLD, "better", "bug", "missing"}
    assert [one for one in differences() if not one.is_fault and any(w.endswith("*") for w in one.where)] == []


def test_what_differs_on_purpose_is_reported_on_the_page():
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
