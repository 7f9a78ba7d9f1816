"""The tools of agents for a memory."""

from typing import Any

import pytest
from modes import Mode

from crewgraph import Agent, Crew, Memory, ScriptedLLM, Task, ToolUse
from crewgraph.prompts.i18n import I18N
from crewgraph.tools.memory import RecallMemoryTool, RememberTool, create_memory_tools

from .unified_parts import words


def test_an_agent_remembers_and_searches(mode: Mode):
    memory = Memory(embedder=words)
    model = ScriptedLLM(
        [
            ToolUse("Save_to_memory", {"contents": ["The ferry leaves at nine"]}),
            ToolUse("Search_memory", {"queries": ["ferry", "the ferry"]}),
            "Thought: done\nFinal Answer: at nine",
        ]
    )
    agent = Agent(role="Pilot", goal="g", backstory="b", llm=model, tools=create_memory_tools(memory))
    task = Task(description="When?", expected_output="A time", agent=agent)
    mode.kickoff(Crew(agents=[agent], tasks=[task]))
    assert [record.content for record in memory.list_records()] == ["The ferry leaves at nine"]
    assert model.requests[2].text.count("- The ferry leaves at nine (score ") == 1


def test_what_is_found_is_told_once_and_nothing_is_said_so(mode: Mode):
    memory = Memory(embedder=words)
    search, save = create_memory_tools(memory)
    assert mode.run(search.run, search.arun, ["ferry"]) == "Nothing of that is remembered."
    assert mode.run(save.run, save.arun, ["one", "two"]) == "Remembered: 2 texts."
    assert mode.run(save.run, save.arun, "three") == "Remembered."
    told = mode.run(search.run, search.arun, "three")
    assert len(told.splitlines()) == 3


def test_what_cannot_be_written_gets_no_tool_that_writes():
    memory = Memory()
    names = [tool.name for tool in create_memory_tools(memory.scope("/a"))]
    assert names == ["Search memory", "Save to memory"]
    for closed in (memory.slice(["/a"]), Memory(read_only=True), memory.slice(["/a"], read_only=False)):
        assert [tool.name for tool in create_memory_tools(closed)] == ["Search memory"]


def test_a_memory_of_ones_own_is_enough(mode: Mode):
    class Notes:
        def __init__(self) -> None:
            self.texts: list[str] = []

        def recall(self, query: str) -> list[str]:
            return [f"- {text}" for text in self.texts if query in text]

        def remember_many(self, texts: list[str]) -> None:
            self.texts += texts

    search, save = create_memory_tools(Notes())
    mode.run(save.run, save.arun, ["a ferry", "a pier"])
    assert mode.run(search.run, search.arun, ["pier"]) == "- a pier"


def test_the_tools_are_worded_by_a_book(tmp_path: Any):
    path = tmp_path / "prompts.json"
    path.write_text('{"tools": {"recall_memory": "Look it up.", "save_to_memory": "Note it."}}')
    with pytest.MonkeyPatch.context():
        made = create_memory_tools(Memory(), I18N(prompt_file=str(path)).book)
    assert [tool.description for tool in made] == ["Look it up.", "Note it."]
    assert RecallMemoryTool(memory=Memory()).description != "Look it up."
    assert RememberTool(memory=Memory()).description
