"""The tools of agents for a memory."""

import pytest
from modes import Mode

from crewgraph import Agent, Crew, Memory, ScriptedLLM, Task, ToolUse
from crewgraph.tools.memory import create_memory_tools

from .unified_parts import words


def test_an_agent_remembers_and_searches(mode: Mode):
    memory = Memory(embedder=words)
    model = ScriptedLLM(
        [
            ToolUse("save_to_memory", {"contents": ["The ferry leaves at nine"]}),
            ToolUse("search_memory", {"queries": ["ferry", "the ferry"]}),
            "Thought: done\nFinal Answer: at nine",
        ]
    )
    agent = Agent(role="Pilot", goal="g", backstory="b", llm=model, tools=create_memory_tools(memory))
    task = Task(description="When?", expected_output="A time", agent=agent)
    mode.kickoff(Crew(agents=[agent], tasks=[task]))
    assert [record.content for record in memory.list_records()] == ["The ferry leaves at nine"]
    assert model.requests[2].text.count("- The ferry leaves at nine (score ") == 1


@pytest.mark.parametrize("granularity", ["task", "step"])
@pytest.mark.parametrize("whose", ["crew", "agent"])
def test_models_with_native_calls_are_offered_the_tools_of_a_memory(mode: Mode, whose: str, granularity: str):
    memory = Memory(embedder=words, llm=False)
    memory.remember("The ferry leaves at nine")
    uses = [ToolUse("save_to_memory", {"contents": ["Marc left"]}), ToolUse("search_memory", {"queries": ["Marc"]})]
    model = ScriptedLLM([*uses, "at nine", '{"memories": []}'], native_tools=True)
    agent = Agent(role="Pilot", goal="g", backstory="b", llm=model, memory=memory if whose == "agent" else None)
    task = Task(description="When?", expected_output="A time", agent=agent)
    crew = Crew(agents=[agent], tasks=[task], memory=memory if whose == "crew" else False)
    assert mode.kickoff(crew, granularity=granularity).raw == "at nine"
    assert [tool["function"]["name"] for tool in model.requests[0].tools] == ["search_memory", "save_to_memory"]
    assert "- Marc left (score " in model.requests[2].text
    assert "Marc left" in {record.content for record in memory.list_records()}


def test_what_is_found_is_reported_once_and_nothing_is_said_so(mode: Mode):
    memory = Memory(embedder=words)
    search, save = create_memory_tools(memory)
    assert mode.run(search.run, search.arun, ["ferry"]) == "Nothing of that is remembered."
    assert mode.run(save.run, save.arun, ["one", "two"]) == "Remembered: 2 texts."
    assert mode.run(save.run, save.arun, "three") == "Remembered."
    answer = mode.run(search.run, search.arun, "three")
    assert len(answer.splitlines()) == 3


def test_what_cannot_be_written_gets_no_tool_that_writes():
    memory = Memory()
    names = [tool.name for tool in create_memory_tools(memory.scope("/a"))]
    assert names == ["Search memory", "Save to memory"]
    for closed in (memory.slice(["/a"]), Memory(read_only=True), memory.slice(["/a"], read_only=False)):
        assert [tool.name for tool in create_memory_tools(closed)] == ["Search memory"]
