"""The modes in which remote agents are asked."""

import pytest
from combinations import CREW_MODES
from modes import Mode


@pytest.fixture(params=CREW_MODES)
def mode(request: pytest.FixtureRequest) -> Mode:
    return Mode(request.param)
