"""What tests of flows share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from crewgraph.storage.checkpoints import SqliteCheckpointer


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[SqliteCheckpointer]:
    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        yield saver
