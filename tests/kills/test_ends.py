"""A sample of the process ends and lost runs that `make kills` causes by the thousand."""

import random
from pathlib import Path

import pytest
from servers.postgres import Postgres

from kills.ends import run_ends
from kills.losses import run_losses


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
    assert (outcome.repeated, outcome.lost, outcome.removed) == ([], [], [])
    assert outcome.ends.total() >= 12


def test_a_run_does_not_notice_others_that_were_lost_at_any_moment():
    seed = random.randrange(10**6)
    print("seed", seed)
    outcome = run_losses(12, seed)
    assert (outcome.noticed, outcome.lost.total()) == ([], 12)
