"""Unregisters all hooks after each test."""

from collections.abc import Iterator

import pytest
from combinations import CREW_MODES
from modes import Mode

from crewgraph.hooks import clear_all_hooks

__all__ = ["mode", "no_hooks_left"]


@pytest.fixture(autouse=True)
def no_hooks_left() -> Iterator[None]:
    clear_all_hooks()
    yield
    clear_all_hooks()


@pytest.fixture(params=CREW_MODES)
def mode(request: pytest.FixtureRequest) -> Mode:
    return Mode(request.param)
