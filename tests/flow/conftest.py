"""The tests of flows, each in both granularities: what a program sees does not depend on what becomes a node."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from crewgraph.flow import Flow
from crewgraph.storage.checkpoints import SqliteCheckpointer


@pytest.fixture(autouse=True, params=["method", "flow"])
def granularity(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    granularity = str(request.param)
    monkeypatch.setattr(Flow, "granularity", granularity)
    return granularity


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[SqliteCheckpointer]:
    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        yield saver
