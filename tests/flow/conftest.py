"""Runs tests of flows sync and async."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from modes import Mode

from crewgraph.storage.checkpoints import SqliteCheckpointer


@pytest.fixture(params=["sync", "async"])
def mode(request: pytest.FixtureRequest) -> Mode:
    return Mode(request.param)


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[SqliteCheckpointer]:
    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        yield saver
