"""The tests of flows, each in both granularities: what a program sees does not depend on what becomes a node."""

import pytest

from crewgraph.flow import Flow


@pytest.fixture(autouse=True, params=["method", "flow"])
def granularity(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    granularity = str(request.param)
    monkeypatch.setattr(Flow, "granularity", granularity)
    return granularity
