"""Programs written for CrewAI, moved over, do without its name what they were recorded to do on it.

Eight of the programs; `MOVED=all` runs all of them (many minutes).
"""

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from crewgraph_compat.moving.migration import Migration, plan_migration
from parity.compare import ASPECTS, alike, follows, known, recording, relation, whole
from parity.run_program import PROGRAMS, ROOT, Implementation, programs, source, trace_program

SAMPLE = (
    "callbacks", "conditional_run", "custom_llm_with_tool", "guardrails_several", "listener_reads",
    "memory_kinds", "project", "unknown_keywords",
)  # fmt: skip
EVENTS = {'"crewai.events.base_events"': '"crewgraph.events.base"', '"crewai.events"': '"crewgraph.events"'}
"""The modules in which the harness listens, on both sides."""


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Migration]:
    """The programs, rewritten, and what was told of them."""
    folder = tmp_path_factory.mktemp("moved")
    for name in program_names():
        file = source(name)
        for path in [file] if file.parent == PROGRAMS else [one for one in file.parent.rglob("*") if one.is_file()]:
            there = folder / path.relative_to(PROGRAMS)
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_bytes(path.read_bytes())
    made = plan_migration(folder)
    made.write()
    harness = (source("callbacks").parent.parent / "harness.py").read_text("utf-8")
    for theirs, ours in EVENTS.items():
        harness = harness.replace(theirs, ours)
    (folder / "harness.py").write_text(harness, "utf-8")
    return folder, made


def program_names() -> list[str]:
    return programs() if os.environ.get("MOVED") == "all" else sorted(set(SAMPLE) & set(programs()))


def test_nothing_is_left_of_crewai(moved: tuple[Path, Migration]):
    folder, made = moved
    assert made.broken == []
    left = {note.file for note in made.notes if note.left}
    for file in made.files:
        if file.shown not in left:
            assert re.search(r"^\s*(import|from) crewai\b", file.after.decode(), re.MULTILINE) is None
    assert [file.shown for file in plan_migration(folder).files if file.shown != "harness.py"] == []


@pytest.mark.parametrize("name", program_names())
def test_a_moved_program_does_what_it_did(moved: tuple[Path, Migration], name: str):
    folder, made = moved
    if any(note.left for note in made.notes if note.file.startswith((f"{name}.", f"{name}/"))):
        pytest.skip("it uses what is not there")
    path = os.pathsep.join([str(ROOT), str(ROOT / "compat")])
    ourselves = Implementation("moved", (sys.executable,), path, harness=folder / "harness.py", asks_at_terminals=True)
    ours, theirs = trace_program(name, ourselves, folder / source(name).relative_to(PROGRAMS)), recording(name)
    assert "broken" not in ours or "broken" in theirs["1.15"]
    assert {aspect: False for aspect in ASPECTS if not _as_recorded(name, aspect, ours, theirs)} == {}


def _as_recorded(name: str, aspect: str, ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    difference = known(name, aspect) or whole(name)
    if difference is None or difference.is_fault:
        return follows(relation(ours, theirs, aspect)) or difference is not None
    if difference.relation == "better":
        return alike(ours, {**ours, **theirs["crewgraph"]}, aspect)
    return relation(ours, theirs, aspect) == difference.relation
