"""Methods in the background may end in any order."""

from concurrent.futures import Future
from typing import Any

import pytest

from crewgraph.compiler.flow.algebra import initial_progress
from crewgraph.compiler.flow.run import FlowRun
from crewgraph.compiler.flow.running import Parked
from crewgraph.compiler.flow.scheduler import MethodEnd, wait_for_first
from crewgraph.core.operations import drive
from crewgraph.flow import Flow, start


class Two(Flow[dict[str, Any]]):
    @start()
    def a(self) -> str:
        return "a"

    @start()
    def b(self) -> str:
        return "b"


class Ending(Future[Any]):
    """A work that has ended by the second time somebody looks."""

    looked = 0

    def done(self) -> bool:
        self.looked += 1
        return self.looked > 1


@pytest.mark.parametrize("asks", [False, True])
def test_a_method_that_ends_while_it_is_looked_at_has_not_failed(asks: bool):
    flow = Two()
    run = FlowRun(flow, flow.state, {}, stored=False)
    ending, question = Ending(), Parked({"id": "a#1:ask0"}, returned=False)
    run.works = {"a#1": ending, "b#1": Future()}
    if asks:
        ending.set_exception(question)
    else:
        run.ended.append("a#1")
        ending.set_result("a")
    landed = drive(wait_for_first(run, initial_progress(run.topology, ["a", "b"], "run")))
    assert landed is question if asks else (isinstance(landed, MethodEnd) and landed.values == [("a#1", "a")])
    assert not run.failed
