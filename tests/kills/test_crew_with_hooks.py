"""A run by a plan, with a skill and hooks, that is killed with SIGKILL and resumed: nothing on record happens again."""

import random
from collections import Counter
from pathlib import Path

import pytest

from kills.run_program import points_of, run_program

_SAMPLE = 4


def effects(folder: Path) -> Counter[str]:
    lines = (folder / "ledger.txt").read_text().splitlines()
    return Counter(line for line in lines if line.startswith("E "))


@pytest.mark.timeout(600)
def test_whenever_it_is_killed_only_what_was_not_on_record_happens_again(tmp_path: Path):
    whole = tmp_path / "lives"
    whole.mkdir()
    assert run_program("crew_with_hooks", whole) == (0, "04:12 UTC\n")
    lines, every = (whole / "ledger.txt").read_text().splitlines(), effects(whole)
    assert every.total() == 27 and max(every.values()) == 1
    for kill in random.Random(11).sample(points_of(lines), _SAMPLE):
        folder = tmp_path / kill.replace(" ", "_").replace("/", "_")
        folder.mkdir()
        assert run_program("crew_with_hooks", folder, kill)[0] == -9
        assert run_program("crew_with_hooks", folder) == (0, "04:12 UTC\n")
        died = lines.index(kill.partition(" ")[2]) + kill.startswith("after")
        recorded = max((n for n, line in enumerate(lines[:died], 1) if line.startswith("R ")), default=0)
        again = {line for line in lines[recorded:died] if line.startswith("E ")}
        assert effects(folder) == every + Counter(again), kill
