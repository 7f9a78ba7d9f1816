"""Usage of a flow, files passed to its crews, and states from CrewAI's records."""

from pathlib import Path
from typing import Any

import pytest
from modes import Mode

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.flow import Flow, listen, start

from .parts import kickoff


def asked(messages: Any) -> str:
    return str(messages[-1]["content"])


def crew(model: Any) -> Crew:
    clerk = Agent(role="Clerk", goal="g", backstory="b", llm=model)
    return Crew(agents=[clerk], tasks=[Task(description="Tell", expected_output="A word", agent=clerk)])


class Inner(Flow[dict[str, Any]]):
    @start()
    def tell(self) -> str:
        return crew(ScriptedLLM(["a", "b"])).kickoff().raw


class Outer(Flow[dict[str, Any]]):
    @start()
    def tell(self) -> str:
        return crew(ScriptedLLM(["c"])).kickoff().raw

    @start()
    def beside(self) -> str:
        return Agent(role="r", goal="g", backstory="b", llm=ScriptedLLM(["d"])).kickoff("Hello").raw

    @listen(tell)
    def inner(self) -> int:
        inner = Inner()
        inner.kickoff()
        return inner.usage_metrics.successful_requests


def test_a_flow_counts_what_all_its_models_were_asked(mode: Mode):
    flow = Outer()
    assert flow.usage_metrics.successful_requests == 0
    kickoff(mode, flow)
    assert (flow.usage_metrics.successful_requests, 1 in flow.method_outputs) == (3, True)


class Reads(Flow[dict[str, Any]]):
    @start()
    def read(self) -> str:
        return crew(ScriptedLLM(asked)).kickoff().raw

    @listen(read)
    def own(self) -> list[str]:
        return sorted(self.state)


def test_crews_in_a_flow_are_given_its_files(mode: Mode, tmp_path: Path):
    path = tmp_path / "tides.txt"
    path.write_text("High water at 9:40.")
    flow = Reads()
    assert mode.run(flow.kickoff, flow.kickoff_async, {"a": 1}, {"tides": str(path)}) == ["a", "id"]
    assert "tides" in flow.method_outputs[0]
    with pytest.raises(ValueError, match="gone"):
        mode.run(flow.kickoff, flow.kickoff_async, None, {"tides": str(tmp_path / "gone.txt")})
