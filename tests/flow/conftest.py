"""Runs every test of flows in both granularities, since behaviour must not depend on them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from extent import FLOW_MODES
from modes import Mode

from crewgraph.flow import Flow
from crewgraph.storage.checkpoints import SqliteCheckpointer


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Both granularities, sync and async: all pairs, or each once in the quick run."""
    marked = {name for mark in metafunc.definition.iter_markers("parametrize") for name in _names(mark.args[0])}
    expected = {"granularity", "mode"} & set(metafunc.fixturenames) - marked
    if len(expected) == 2:
        metafunc.parametrize(("granularity", "mode"), FLOW_MODES, indirect=True)
    elif "granularity" in expected:
        metafunc.parametrize("granularity", ["method", "flow"], indirect=True)
    elif "mode" in expected:
        metafunc.parametrize("mode", ["sync", "async"], indirect=True)


def _names(given: str | Sequence[str]) -> list[str]:
    return [name.strip() for name in given.split(",")] if isinstance(given, str) else list(given)


@pytest.fixture
def mode(request: pytest.FixtureRequest) -> Mode:
    return Mode(request.param)


@pytest.fixture(autouse=True)
def granularity(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    granularity = str(request.param)
    monkeypatch.setattr(Flow, "granularity", granularity)
    return granularity


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[SqliteCheckpointer]:
    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        yield saver
