"""What an agent elsewhere does, it does for runs of all kinds."""

import pytest
from modes import Mode


@pytest.fixture(params=["sync", "async", "sync-step", "async-step"])
def mode(request: pytest.FixtureRequest) -> Mode:
    return Mode(request.param)
