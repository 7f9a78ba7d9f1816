"""What tests of flows share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from crewgraph.flow import Flow
from crewgraph.storage.checkpoints import SqliteCheckpointer


@pytest.fixture(autouse=True)
def granularity(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    granularity = str(getattr(request, "param", "method"))
    monkeypatch.setattr(Flow, "granularity", granularity)
    return granularity


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[SqliteCheckpointer]:
    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        yield saver
