"""Runs that are killed with SIGKILL and resumed: by a plan, with a skill and hooks; and of an agent with middleware."""

import random
from collections import Counter
from pathlib import Path

import pytest
from combinations import of

from kills.run_program import points_of, run_program


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("program", "printed", "number", "recorded", "left_out", "sample"),
    [
        ("crew_with_hooks", "04:12 UTC\n", 27, "E ", (), 4),
        # Hooks of middleware are steps, not records.
        ("crew_with_middleware", "04:12 4\n", 6, ("E model", "E look"), ("C 1", "look-Brest"), of(5, 100)),
    ],
)
def test_whenever_it_is_killed_only_what_was_not_on_record_happens_again(
    tmp_path: Path, program: str, printed: str, number: int, recorded: str, left_out: tuple[str, ...], sample: int
):
    def effects(folder: Path) -> Counter[str]:
        return Counter(one for one in (folder / "ledger.txt").read_text().splitlines() if one.startswith(recorded))

    whole = tmp_path / "lives"
    whole.mkdir()
    assert run_program(program, whole) == (0, printed)
    lines, every = (whole / "ledger.txt").read_text().splitlines(), effects(whole)
    assert every.total() == number and (program != "crew_with_hooks" or max(every.values()) == 1)
    points = [point for point in points_of(lines) if not point.endswith(left_out)]
    for kill in random.Random(11).sample(points, min(sample, len(points))):
        folder = tmp_path / kill.replace(" ", "_").replace("/", "_")
        folder.mkdir()
        assert run_program(program, folder, kill)[0] == -9
        assert run_program(program, folder) == (0, printed), kill
        died = lines.index(kill.partition(" ")[2]) + kill.startswith("after")
        stored = max((n for n, line in enumerate(lines[:died], 1) if line.startswith("R ")), default=0)
        again = {line for line in lines[stored:died] if line.startswith(recorded)}
        assert effects(folder) == every + Counter(again), kill
