"""A sample of the process ends that `make kills` causes by the thousand."""

import random
from pathlib import Path

import pytest
from servers.postgres import Postgres

from kills.ends import run_ends


@pytest.mark.parametrize("place", ["SQLite", "Postgres"])
def test_runs_that_end_in_any_way_lose_and_repeat_nothing_that_was_recorded(
    place: str, tmp_path: Path, request: pytest.FixtureRequest
):
    where = ""
    if place == "Postgres":
        postgres: Postgres = request.getfixturevalue("postgres")
        where = postgres.dsn
    seed = random.randrange(10**6)
    print("seed", seed)
    outcome = run_ends(where, 12, seed, tmp_path)
    assert (outcome.repeated, outcome.lost) == ([], [])
    assert outcome.ends.total() >= 12
