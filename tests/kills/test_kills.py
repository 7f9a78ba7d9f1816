"""A run that is killed with SIGKILL and resumed in a new process: nothing recorded is repeated, nothing is lost.

A sample over all ways and all points; `make kills` goes through every one.
"""

import random
from pathlib import Path

import pytest
from combinations import of
from servers.postgres import Postgres

from kills.matrix import Kills, ways
from kills.program import Case

_SAMPLE = of(1, 5)
_SEED = 20


@pytest.fixture(scope="module")
def kills(tmp_path_factory: pytest.TempPathFactory) -> Kills:
    return Kills(tmp_path_factory.mktemp("kills"))


def named(way: Case) -> str:
    return f"{way.saver}-{way.mode}-{way.shape}-{way.granularity}-{way.durability}"


@pytest.mark.parametrize("way", list(ways(None)), ids=named)
def test_a_killed_run_continues_where_it_stopped(kills: Kills, way: Case):
    points = kills.points(way)
    sample = random.Random(f"{_SEED}{named(way)}").sample(points, _SAMPLE)
    verdicts = [kills.verdict(way, point) for point in sample]
    assert [verdict for verdict in verdicts if not verdict.sound] == []
    assert all(verdict.killed for verdict in verdicts)


def test_a_killed_run_continues_where_it_stopped_on_postgres(kills: Kills, postgres: Postgres):
    on_postgres = [way for way in ways(postgres.dsn) if way.saver == "postgres"]
    for way in random.Random(_SEED).sample(on_postgres, of(3, len(on_postgres))):
        point = random.Random(f"{_SEED}{named(way)}").choice(kills.points(way))
        assert kills.verdict(way, point).sound, point


def test_a_run_killed_again_and_again_still_ends_with_every_recorded_effect_done_once(kills: Kills, tmp_path: Path):
    way = Case("sync", "root", "task", "sync", "sqlite", "", "", "")
    case = kills.fresh(way)
    from dataclasses import replace

    for kill in ("after R 2", "before R 2", "after R 1", "after C 1", "before E guard-good"):
        kills.run(replace(case, kill=kill))
    status, output = kills.run(case)
    assert (status, output) == (0, '["seen", "good", "end", "fine"]')
    lines = Path(case.ledger).read_text().splitlines()
    assert lines.count("E a-0") == 1
    # Each effect has one record: one more would be an effect that was repeated although it was recorded.
    effects, records = [{line for line in lines if line.startswith("E ")}, [x for x in lines if x.startswith("R ")]]
    assert len(records) <= len(effects)
