"""Runs every test of declared flows in both granularities."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from crewgraph.flow import Flow
from crewgraph.storage.checkpoints import SqliteCheckpointer


@pytest.fixture(params=["method", "flow"])
def granularity(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    granularity = str(request.param)
    monkeypatch.setattr(Flow, "granularity", granularity)
    return granularity


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[SqliteCheckpointer]:
    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        yield saver
