"""Programs that test their crews with `unittest.mock`: agents, models and embedders that are mocks, and patched methods."""

from typing import Any
from unittest.mock import AsyncMock, MagicMock, Mock

import pytest
from modes import Mode
from pydantic import BaseModel

from crewgraph import LLM, Agent, Crew, ScriptedLLM, Task, TaskOutput, ToolUse
from crewgraph.llm.base import BaseLLM
from crewgraph.tools import BaseTool


class Depth(BaseModel):
    metres: int


def clerk(*answers: str, **fields: Any) -> Mock:
    mock = Mock(role="Clerk", **fields)
    mock.execute_task.side_effect = answers
    return mock


def task(**fields: Any) -> Task:
    return Task(description="Count", expected_output="A number", **fields)


def execute(mode: Mode, task: Task, agent: Any = None) -> TaskOutput:
    return mode.run(task.execute_sync, task.aexecute_sync, agent)


def test_a_mock_does_a_task(mode: Mode):
    agent, counting = clerk("four"), task()
    output = execute(mode, counting, agent)
    assert (output.raw, output.agent) == ("four", "Clerk")
    agent.execute_task.assert_called_once_with(task=counting, context=None, tools=[])


def test_guardrails_callbacks_and_structures_work_with_a_mock(mode: Mode):
    agent, called = clerk("bad", '{"metres": 4}'), Mock()

    def judge(output: TaskOutput) -> tuple[bool, Any]:
        return output.raw != "bad", output.raw

    guarded = task(guardrail=judge, callback=called, output_pydantic=Depth)
    output = execute(mode, guarded, agent)
    assert output.pydantic == Depth(metres=4)
    assert [call.kwargs["context"] is None for call in agent.execute_task.call_args_list] == [True, False]
    called.assert_called_once()


def test_any_object_with_the_method_is_an_agent(mode: Mode):
    class Own:
        role = "Own"

        def execute_task(self, task: Task, context: str | None = None, tools: object = None) -> str:
            return f"{task.description}: {context!r}"

    assert execute(mode, task(), Own()).raw == "Count: None"
    own: Any = Own()
    assert mode.kickoff(Crew(agents=[own], tasks=[task(agent=own)])).raw == "Count: ''"


def test_a_mock_with_the_agents_spec_or_coroutines_is_an_agent(mode: Mode):
    spec = MagicMock(spec=Agent, role="Clerk")
    spec.execute_task.return_value = spec.aexecute_task.return_value = "four"
    assert execute(mode, task(), spec).raw == "four"
    coroutines = AsyncMock(role="Clerk")
    coroutines.execute_task.return_value = coroutines.aexecute_task.return_value = "four"
    assert execute(mode, task(), coroutines).raw == "four"


def test_an_object_without_the_method_is_no_agent():
    with pytest.raises(ValueError, match="agent"):
        task(agent=object())


def model(*answers: str, kind: Any = LLM) -> Any:
    mock = MagicMock(spec=kind)
    mock.call.side_effect = answers
    return mock


def agent(llm: object, **fields: Any) -> Agent:
    return Agent(role="Clerk", goal="Count", backstory="Careful.", llm=llm, **fields)


@pytest.mark.parametrize("kind", [LLM, BaseLLM, None])
def test_a_mock_is_a_model(mode: Mode, kind: Any):
    llm = model("Final Answer: four", "Final Answer: five", kind=kind)
    worker = agent(llm)
    assert mode.kickoff(Crew(agents=[worker], tasks=[task(agent=worker)])).raw == "four"
    assert mode.run(worker.kickoff, worker.akickoff, "How many?").raw == "five"
    assert llm.call.call_count == 2


@pytest.mark.parametrize("method_name", ["run", "_run"])
@pytest.mark.parametrize("native", [False, True])
def test_a_mock_of_a_tool_is_called_with_what_the_model_writes(mode: Mode, method_name: str, native: bool):
    sounding = MagicMock(spec=BaseTool)
    sounding.name, sounding.description = "Sounding", "How deep the water is."
    getattr(sounding, method_name).return_value = "7 metres"
    llm = ScriptedLLM([ToolUse("sounding", {"place": "quay"}), "deep"], native_tools=native)
    agent = Agent(role="Pilot", goal="Sound", backstory="Careful.", llm=llm, tools=[sounding])
    sound = Task(description="How deep?", expected_output="Metres", agent=agent)
    assert agent.tools == [sounding]
    assert mode.kickoff(Crew(agents=[agent], tasks=[sound])).raw == "deep"
    getattr(sounding, method_name).assert_called_once_with(place="quay")
    assert "7 metres" in str(llm.requests[-1].messages[-1]["content"])
