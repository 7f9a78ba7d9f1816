"""What a crew does, it does in both granularities."""

import pytest
from modes import Mode


@pytest.fixture(params=["sync", "async", "sync-step", "async-step"])
def mode(request: pytest.FixtureRequest) -> Mode:
    return Mode(request.param)
