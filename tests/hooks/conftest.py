"""Hooks are gone again behind each test."""

from collections.abc import Iterator

import pytest
from modes import Mode

from crewgraph.hooks import clear_all_hooks

__all__ = ["mode", "no_hooks_left"]


@pytest.fixture(autouse=True)
def no_hooks_left() -> Iterator[None]:
    clear_all_hooks()
    yield
    clear_all_hooks()


@pytest.fixture(params=["sync", "async", "sync-step", "async-step"])
def mode(request: pytest.FixtureRequest) -> Mode:
    return Mode(request.param)
