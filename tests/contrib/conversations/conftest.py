"""Runs every test of conversational flows in both granularities."""

import pytest

from crewgraph.flow import Flow


@pytest.fixture(params=["method", "flow"])
def granularity(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    granularity = str(request.param)
    monkeypatch.setattr(Flow, "granularity", granularity)
    return granularity
