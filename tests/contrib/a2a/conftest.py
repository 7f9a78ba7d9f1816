"""Runs every test of remote agents in all run modes."""

import pytest
from combinations import CREW_MODES
from modes import Mode


@pytest.fixture(params=CREW_MODES)
def mode(request: pytest.FixtureRequest) -> Mode:
    return Mode(request.param)
