"""Loops of many rounds."""

from typing import Any

import pytest
from combinations import of
from modes import Mode

from crewgraph.errors import FlowLoopError
from crewgraph.flow import Flow, listen, router, start

from .parts import kickoff

_ROUNDS = of(3_000, 10_000)


class Round(Flow[dict[str, Any]]):
    max_method_calls = _ROUNDS

    @router("again")
    @start()
    def step(self) -> str:
        n = self.state["n"] = self.state.get("n", 0) + 1
        return "again" if n < self.state["rounds"] else "done"

    @listen("done")
    def end(self) -> int:
        return self.state["n"]


def test_a_loop_of_thousands_of_rounds_comes_to_its_end(mode: Mode):
    assert kickoff(mode, Round(), {"rounds": _ROUNDS}) == _ROUNDS


def test_one_round_more_than_is_allowed_is_reported(mode: Mode):
    flow = Round()
    flow.max_method_calls = 1_000
    with pytest.raises(FlowLoopError, match=r"method `step` of flow `Round` has run 1000 times \(`max_method_calls`\)"):
        kickoff(mode, flow, {"rounds": 1_001})
    assert flow.state["n"] == 1_000
