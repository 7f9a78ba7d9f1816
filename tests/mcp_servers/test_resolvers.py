"""What a program puts in the place of looking for the tools of MCP servers has its effect in runs."""

from typing import Any

import pytest
from modes import Mode

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.errors import CompileError
from crewgraph.tools import tool
from crewgraph.tools.mcp import MCPServerHTTP
from crewgraph.tools.mcp.tool import MCPToolResolver

NOWHERE = "https://nowhere.invalid/mcp"


@tool
def depth(place: str) -> str:
    """How deep it is."""
    return f"{place}: 4 m"


def external(self: MCPToolResolver, mcps: Any) -> list[Any]:
    return [depth]


def native(self: MCPToolResolver, mcp_config: Any) -> tuple[list[Any], list[Any]]:
    return [depth], []


def crew(*mcps: Any) -> Crew:
    said = ScriptedLLM([{"name": "depth", "args": {"place": "Brest"}}, "4 m"])
    pilot = Agent(role="Pilot", goal="Know", backstory="Careful.", llm=said, mcps=list(mcps))
    return Crew(agents=[pilot], tasks=[Task(description="How deep?", expected_output="A depth", agent=pilot)])


def test_an_address_leads_to_what_the_patch_gives(mode: Mode, monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []

    def resolve(self: MCPToolResolver, mcp_ref: str) -> list[Any]:
        asked.append(mcp_ref)
        return [depth]

    monkeypatch.setattr(MCPToolResolver, "_resolve_external", resolve)
    output = mode.kickoff(crew(NOWHERE))
    assert output.raw == "4 m" and "Brest: 4 m" in str(output.tasks_output[0].messages)
    assert set(asked) == {NOWHERE}


def test_a_description_of_a_server_does_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(MCPToolResolver, "_resolve_native", native)
    assert crew(MCPServerHTTP(url=NOWHERE)).kickoff().raw == "4 m"


def test_the_whole_way_may_be_patched(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(MCPToolResolver, "resolve", external)
    made = crew("crewai-amp:depths", MCPServerHTTP(url=NOWHERE))
    assert made.agents[0].get_mcp_tools([NOWHERE]) == [depth]
    assert made.kickoff().raw == "4 m"


def test_without_the_patch_the_same_crew_asks_the_server_again(monkeypatch: pytest.MonkeyPatch):
    one = crew("crewai-amp:depths")
    with monkeypatch.context() as patched:
        patched.setattr(MCPToolResolver, "_resolve_external", external)
        assert one.kickoff().raw == "4 m"
    with pytest.raises(CompileError, match="hosted platform"):
        one.kickoff()
