"""Skills in runs: the notes in prompts, and the tool that reads them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from combinations import CREW_MODES
from crewgraph_compat.stand_ins.lite_agent import LiteAgent
from modes import Mode

from contrib.skills.folders import skill_folder
from crewgraph import Agent, Crew, Process, ScriptedLLM, Task, ToolUse
from crewgraph.contrib.skills import load_skill
from crewgraph.events.tool import SkillActivatedEvent, SkillUsedEvent
from crewgraph.testing import record_events

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
        "tides", "Clerk", "tide", folder / "tides",
    )  # fmt: skip


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
