"""The `llm` fields: the values that users pass, and what agents show."""

import json
from typing import Any

import pytest
from crewgraph_compat.stand_ins.lite_agent import LiteAgent

from crewgraph import LLM, Agent, Crew, Process, ScriptedLLM, Task

SELF: dict[str, Any] = {"role": "Clerk", "goal": "Know the tides", "backstory": "Careful."}


@pytest.mark.parametrize("kind", [Agent, LiteAgent])
def test_a_name_is_a_model_whose_attributes_can_be_read_and_changed(kind: type[Agent]):
    agent = kind(**SELF, llm="openai/gpt-4o", function_calling_llm="gpt-4o-mini")
    assert isinstance(agent.llm, LLM)
    assert (agent.llm.model, agent.llm.temperature) == ("gpt-4o", None)
    assert agent.function_calling_llm.model == "gpt-4o-mini"
    agent.llm.temperature = 0.5
    assert kind(**SELF, llm="openai/gpt-4o").llm.temperature is None  # each has a model of its own


def test_no_model_is_needed_before_there_is_work(monkeypatch: pytest.MonkeyPatch):
    agent = Agent(**SELF)
    assert agent.llm is None
    agent.llm = ScriptedLLM(["high"])
    assert agent.kickoff("tide?").raw == "high"


def test_a_model_is_told_in_json_by_what_makes_it_again_and_without_its_key():
    agent = Agent(**SELF, llm=LLM("gpt-4o", temperature=0.5, api_key="secret"))
    reported = json.loads(agent.model_dump_json())
    assert reported["llm"] == {"model": "openai/gpt-4o", "temperature": 0.5}
    assert reported["function_calling_llm"] is None
    assert Agent(**SELF, llm=reported["llm"]).llm.temperature == 0.5


def test_a_manager_is_made_anew_where_its_model_was_changed_and_only_then():
    def answers(text: str) -> ScriptedLLM:
        return ScriptedLLM([text], repeat_last=True)

    clerk = Agent(**SELF, llm=answers("never asked"))
    task = Task(description="Tell the tide", expected_output="A time", agent=clerk)
    crew = Crew(agents=[clerk], tasks=[task], process=Process.hierarchical, manager_llm=answers("noon"))
    assert crew.kickoff().raw == "noon"
    manager = crew.manager_agent
    assert (crew.kickoff().raw, crew.manager_agent is manager) == ("noon", True)
    crew.manager_llm = answers("midnight")
    assert (crew.kickoff().raw, crew.manager_agent is manager) == ("midnight", False)


@pytest.mark.parametrize("name", ["", " ", None, 5])
def test_a_model_without_a_name_is_refused(name: Any):
    with pytest.raises(ValueError, match="takes the name of a model"):
        LLM(name)
