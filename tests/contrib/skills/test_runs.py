"""Skills in runs: the notes in prompts, and the tool that reads them."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from crewgraph_compat.stand_ins.lite_agent import LiteAgent
from extent import CREW_MODES
from modes import Mode

from contrib.skills.folders import skill_folder
from crewgraph import Agent, Crew, Process, ScriptedLLM, Task, ToolUse
from crewgraph.contrib.skills import Skill, SkillParseError, load_skill
from crewgraph.contrib.skills.capability import LoadSkillTool, create_skill_loader_tool, resolve_loader_tool_name
from crewgraph.events.skill import SkillActivatedEvent, SkillLoadedEvent, SkillUsedEvent
from crewgraph.testing import record_events
from crewgraph.tools import tool

LOAD = ToolUse("load_skill", {"skill_name": "tides"})


@pytest.fixture(params=CREW_MODES)
def mode(request: pytest.FixtureRequest) -> Mode:
    return Mode(request.param)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    skill_folder(tmp_path / "skills", "tides", "Read tide tables.", "Look first.", references__ports_md="Brest")
    skill_folder(tmp_path / "skills", "winds", "Read wind charts.", "Feel first.")
    return tmp_path / "skills"


def clerk(*script: Any, **fields: Any) -> Agent:
    return Agent(role="Clerk", goal="Know", backstory="Careful.", llm=ScriptedLLM(list(script)), **fields)


def crew_of(agent: Agent, **fields: Any) -> Crew:
    tide = Task(name="tide", description="The tide?", expected_output="A word", agent=agent)
    return Crew(agents=[agent], tasks=[tide], **fields)


def said(agent: Agent, request: int, message: int) -> str:
    return str(agent.llm.requests[request].messages[message]["content"])


def test_an_agent_reads_a_skill_when_it_wants_it(mode: Mode, folder: Path):
    agent = clerk(LOAD, "high", skills=[folder])
    with record_events() as events:
        assert mode.kickoff(crew_of(agent)).raw == "high"
    prompt = said(agent, 0, 0)
    assert '<skill name="tides">\nRead tide tables.\n</skill>' in prompt
    assert '<skill name="winds">\nRead wind charts.\n</skill>' in prompt
    assert "Look first." not in prompt
    observed = said(agent, 1, -1)
    assert "Look first." in observed
    assert "- references/ports.md" in observed
    kinds = [type(event) for event in events if isinstance(event, (SkillActivatedEvent, SkillUsedEvent))]
    assert kinds == [SkillActivatedEvent, SkillUsedEvent]
    (used,) = [event for event in events if isinstance(event, SkillUsedEvent)]
    assert (used.skill_name, used.agent_role, used.task_name, used.skill_path) == (
        "tides",
        "Clerk",
        "tide",
        folder / "tides",
    )


def test_it_reads_files_of_a_skill_and_none_outside_it(mode: Mode, folder: Path):
    (folder / "secret.md").write_text("secret", "utf-8")
    uses = [
        ToolUse("load_skill", {"skill_name": "tides", "file": name}) for name in ("references/ports.md", "../secret.md")
    ]
    agent = clerk(*uses, "high", skills=[folder])
    mode.kickoff(crew_of(agent))
    assert "Brest" in said(agent, 1, -1)
    assert "leads out of the skill's folder" in said(agent, 2, -1)


def test_a_name_that_there_is_not_is_answered_with_those_that_there_are(mode: Mode, folder: Path):
    agent = clerk(ToolUse("load_skill", {"skill_name": "stars"}), "high", skills=[folder])
    mode.kickoff(crew_of(agent))
    assert "There is no skill `stars`. Available skills: tides, winds" in said(agent, 1, -1)


def test_skills_that_were_read_stand_in_the_prompt_and_need_no_tool(mode: Mode, folder: Path):
    agent = clerk("high", skills=load_skill(folder))
    with record_events() as events:
        mode.kickoff(crew_of(agent))
    assert "Look first." in said(agent, 0, 0)
    assert "load_skill" not in said(agent, 0, 0)
    assert [event.skill_name for event in events if isinstance(event, SkillUsedEvent)] == ["tides", "winds"]


def test_the_crews_skills_are_those_of_each_of_its_agents(mode: Mode, folder: Path):
    (own,) = [skill for skill in load_skill(folder) if skill.name == "winds"]
    agent = clerk(LOAD, "high", skills=[own])
    crew = crew_of(agent, skills=[folder])
    mode.kickoff(crew)
    assert "Feel first." in said(agent, 0, 0)
    assert '<skill name="tides">\nRead tide tables.\n</skill>' in said(agent, 0, 0)
    assert "Look first." in said(agent, 1, -1)
    assert crew.skills is not None and [skill.name for skill in crew.skills] == ["tides", "winds"]
    assert agent.skills == [own]


def test_an_agent_by_itself_reads_skills(folder: Path):
    for agent in (clerk(LOAD, "high", skills=[str(folder)]), lite(LOAD, "high", skills=[folder])):
        assert agent.kickoff("The tide?").raw == "high"
        assert '<skill name="tides">' in said(agent, 0, 0)
        assert "Look first." in said(agent, 1, -1)
    agent = clerk(LOAD, "high", skills=[folder])
    assert asyncio.run(agent.akickoff("The tide?")).raw == "high"


def lite(*script: Any, **fields: Any) -> LiteAgent:
    return LiteAgent(role="Clerk", goal="Know", backstory="Careful.", llm=ScriptedLLM(list(script)), **fields)


def test_native_calls_are_offered_the_tool(folder: Path):
    agent = Agent(
        role="Clerk", goal="Know", backstory="B", llm=ScriptedLLM([LOAD, "high"], native_tools=True), skills=[folder]
    )
    assert crew_of(agent).kickoff().raw == "high"
    (spec,) = agent.llm.requests[0].tools
    assert spec["function"]["name"] == "load_skill"
    assert spec["function"]["parameters"]["required"] == ["skill_name"]
    assert agent.llm.requests[1].messages[-1]["role"] == "tool"


def test_a_coworker_in_the_hierarchical_process_has_its_own_and_the_crews_skills(mode: Mode, folder: Path):
    worker = clerk(LOAD, "high", skills=[folder])
    wish = ToolUse("Delegate work to coworker", {"task": "The tide?", "context": "None.", "coworker": "Clerk"})
    manager = ScriptedLLM([wish, "It is high"])
    tide = Task(name="tide", description="The tide?", expected_output="A word")
    crew = Crew(agents=[worker], tasks=[tide], process=Process.hierarchical, manager_llm=manager)
    assert mode.kickoff(crew).raw == "It is high"
    assert "Look first." in said(worker, 1, -1)


def test_what_was_read_is_not_read_again_after_a_failure(mode: Mode, folder: Path):
    down = [True]

    def answered(messages: list[dict[str, Any]]) -> Any:
        if "Look first." not in str(messages):
            return LOAD
        if down[0]:
            raise ConnectionError("down")
        return "high"

    agent = clerk(skills=[folder])
    agent.llm = ScriptedLLM(answered)
    agent.max_retry_limit = 0
    crew = crew_of(agent)
    with pytest.raises(ConnectionError):
        mode.kickoff(crew, thread_id="t")
    (folder / "tides" / "SKILL.md").write_text("gone", "utf-8")
    down[0] = False
    assert mode.resume(crew, "t").raw == "high"
    assert sum("Look first." not in str(request.messages) for request in agent.llm.requests) == 1


def test_a_tool_of_the_users_keeps_its_name(folder: Path):
    @tool
    def load_skill_() -> str:
        """Mine."""
        return "mine"

    load_skill_.name = "load_skill"
    agent = clerk(ToolUse("load_skill_2", {"skill_name": "tides"}), "high", tools=[load_skill_], skills=[folder])
    crew_of(agent).kickoff()
    assert "with the tool `load_skill_2`" in said(agent, 0, 0)
    assert "Look first." in said(agent, 1, -1)
    assert resolve_loader_tool_name(("load_skill", "load_skill_2")) == "load_skill_3"


def test_skills_are_found_when_the_agent_is_made(folder: Path):
    with record_events() as events:
        agent = clerk(skills=[folder])
    assert [type(one) for one in agent.skills or ()] == [Skill, Skill]
    assert [event.agent_role for event in events if isinstance(event, SkillLoadedEvent)] == ["Clerk", "Clerk"]
    assert json.loads(agent.model_dump_json(include={"skills"}))["skills"][0]["frontmatter"]["name"] == "tides"
    assert [skill.name for skill in agent.copy().skills or ()] == ["tides", "winds"]


def test_skills_may_be_added_by_hand(folder: Path):
    agent = clerk()
    agent.set_skills()
    assert agent.skills is None
    agent.skills = [folder / "tides"]
    agent.set_skills(load_skill(folder))
    assert [(skill.name, skill.disclosure_level) for skill in agent.skills] == [("tides", 1), ("winds", 2)]


def test_skills_that_change_between_runs_count(folder: Path):
    agent = clerk("high", LOAD, "low")
    crew = crew_of(agent)
    crew.kickoff()
    agent.skills = [folder]
    assert crew.kickoff().raw == "low"


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (["nowhere"], FileNotFoundError, "there is no such folder of skills"),
        (["@org/tides"], ValueError, "the skill `@org/tides` is not on this machine"),
        (["@org"], ValueError, "has the form `@org/name`"),
        ([3], ValueError, "`skills` contains 3; use paths of folders"),
    ],
)
def test_what_is_no_skill_is_refused_when_the_agent_is_made(given: list[Any], error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        clerk(skills=given)


def test_a_folder_that_is_a_broken_skill_is_refused(tmp_path: Path):
    (tmp_path / "tides").mkdir()
    (tmp_path / "tides" / "SKILL.md").write_text("nothing", "utf-8")
    with pytest.raises(ValueError, match="must begin with a `---` line"):
        clerk(skills=[tmp_path / "tides"])
    with pytest.raises(SkillParseError):
        load_skill(tmp_path / "tides")


def test_the_tool_works_by_itself(folder: Path):
    skills = load_skill(folder, activate=False)
    tool = create_skill_loader_tool(skills)
    assert isinstance(tool, LoadSkillTool)
    assert "Look first." in tool.run(skill_name="tides")
    assert tool.run(skill_name="x") == "There is no skill `x`. Available skills: tides, winds"
    assert create_skill_loader_tool(load_skill(folder)) is None
    assert create_skill_loader_tool(None) is None
