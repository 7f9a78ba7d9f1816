"""A run with memory that is killed with SIGKILL and resumed: what was remembered is there, and there once."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from kills.run_program import points_of, run_program

_SAMPLE = 2

EXPECTED: dict[str, Any] = {
    "short": ["the answer to look at Bonn", "the answer to look at Kiel", "three boats at Bonn", "three boats at Kiel"],
    "entities": ["Ada(boat): red"],
    "long": [1, 1],
    "own": ["the answer to look at Bonn", "the answer to look at Kiel"],
}


@pytest.fixture(scope="module")
def points(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Every point that a run passes which lives."""
    folder = tmp_path_factory.mktemp("lives")
    status, output = run_program("crew_with_memory", folder)
    assert (status, json.loads(output)) == (0, EXPECTED)
    lines = (folder / "ledger.txt").read_text().splitlines()
    assert sum(line.startswith("E ") for line in lines) == 4 + 2 + 2 + 2
    return points_of(lines)


@pytest.mark.timeout(600)
def test_whenever_it_is_killed_it_remembers_everything_once(points: list[str], tmp_path: Path):
    saves = [point for point in points if " E " in point]
    sample = random.Random(7)
    for number, kill in enumerate([*sample.sample(saves, _SAMPLE), *sample.sample(points, _SAMPLE)]):
        folder = tmp_path / str(number)
        folder.mkdir()
        status, _ = run_program("crew_with_memory", folder, kill)
        assert status == -9, kill
        remembered = json.loads(run_program("crew_with_memory", folder)[1])
        own = remembered.pop("own")
        assert remembered == {name: one for name, one in EXPECTED.items() if name != "own"}, kill
        # A storage of one's own may be given again what it was given when the process died, before that was recorded.
        assert list(dict.fromkeys(own)) == EXPECTED["own"], kill
        assert len(own) <= len(EXPECTED["own"]) + (" E own" in kill or " R " in kill), kill
