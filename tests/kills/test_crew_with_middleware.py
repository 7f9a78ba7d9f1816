"""A run of an agent with middleware that is killed with SIGKILL and resumed: no recorded request or tool call happens again."""

import random
from collections import Counter
from pathlib import Path

import pytest
from combinations import of

from kills.run_program import points_of, run_program

_SAMPLE = of(5, 100)


def effects(folder: Path) -> Counter[str]:
    lines = (folder / "ledger.txt").read_text().splitlines()
    return Counter(line for line in lines if is_recorded(line))


def is_recorded(line: str) -> bool:
    """Whether it tells of a request or a tool call; hooks of middleware are steps, not records."""
    return line.startswith(("E model", "E look"))


@pytest.mark.timeout(600)
def test_whenever_it_is_killed_only_what_was_not_on_record_happens_again(tmp_path: Path):
    whole = tmp_path / "lives"
    whole.mkdir()
    assert run_program("crew_with_middleware", whole) == (0, "04:12 4\n")
    lines, every = (whole / "ledger.txt").read_text().splitlines(), effects(whole)
    assert every.total() == 6
    points = [point for point in points_of(lines) if not point.endswith(("C 1", "look-Brest"))]
    for kill in random.Random(11).sample(points, min(_SAMPLE, len(points))):
        folder = tmp_path / kill.replace(" ", "_").replace("/", "_")
        folder.mkdir()
        assert run_program("crew_with_middleware", folder, kill)[0] == -9
        assert run_program("crew_with_middleware", folder) == (0, "04:12 4\n"), kill
        died = lines.index(kill.partition(" ")[2]) + kill.startswith("after")
        stored = max((n for n, line in enumerate(lines[:died], 1) if line.startswith("R ")), default=0)
        again = {line for line in lines[stored:died] if is_recorded(line)}
        assert effects(folder) == every + Counter(again), kill
