"""What an agent elsewhere does, it does for runs of all kinds."""

import pytest
from extent import CREW_MODES
from modes import Mode


@pytest.fixture(params=CREW_MODES)
def mode(request: pytest.FixtureRequest) -> Mode:
    return Mode(request.param)
