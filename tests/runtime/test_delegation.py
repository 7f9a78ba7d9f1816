"""Delegation: the coworker's work is part of the delegating agent's work."""

from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from modes import Mode

from crewgraph import BaseAgent, Crew, ScriptedLLM, ToolUse
from crewgraph.definitions.agent.delegation_tools import AgentTools
from crewgraph.errors import ToolFailed
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.tools import tool

from .parts import agent, asked, task

DELEGATE, ASK = "Delegate work to coworker", "Ask question to coworker"
NAMED = "delegate_work_to_coworker"
"""What models call it by."""


def handed(work: str, coworker: str, context: str = "all of it") -> ToolUse:
    return ToolUse(DELEGATE, {"task": work, "context": context, "coworker": coworker})


def question(text: str, coworker: str) -> ToolUse:
    return ToolUse(ASK, {"question": text, "context": "why I ask", "coworker": coworker})


def pair(lead: list[Any], writer: list[Any], **more: Any) -> tuple[Crew, ScriptedLLM, ScriptedLLM]:
    """A lead who may hand work to a writer."""
    first, second = ScriptedLLM(lead), ScriptedLLM(writer)
    boss = agent(first, "Lead", allow_delegation=True)
    return Crew(agents=[boss, agent(second, "Senior Writer")], tasks=[task("report", boss)], **more), first, second


@pytest.mark.parametrize("native", [False, True])
def test_work_is_done_by_a_coworker_who_knows_what_they_are_told(mode: Mode, native: bool):
    crew, lead, writer = pair([handed("write it", "Senior Writer"), "all done"], ["written"])
    lead.native_tools = native
    assert mode.kickoff(crew).raw == "all done"
    reported = writer.requests[0].text
    assert "write it" in reported and "all of it" in reported and "do report" not in reported
    assert "written" in asked(lead)[-1]


@pytest.mark.parametrize("written", ["senior writer", " 'Senior   Writer' ", '"SENIOR WRITER"\n', "`Senior Writer`"])
def test_case_quotes_and_white_space_do_not_matter(mode: Mode, written: str):
    crew, _, writer = pair([handed("x", written), "done"], ["written"])
    assert mode.kickoff(crew).raw == "done" and len(writer.requests) == 1


@pytest.mark.parametrize(
    "args",
    [
        {"task": "x", "context": "y", "co_worker": "Senior Writer"},
        {"task": "x", "coworker": ["Senior Writer"]},
        {"task": "x", "coworker": "Senior Writer"},
    ],
)
def test_what_models_make_of_the_arguments_is_understood(mode: Mode, args: dict[str, Any]):
    crew, _, writer = pair([ToolUse(DELEGATE, args), "done"], ["written"])
    assert mode.kickoff(crew).raw == "done" and len(writer.requests) == 1


def test_an_unknown_coworker_lists_the_choices_to_the_model(mode: Mode):
    crew, lead, writer = pair([handed("x", "Nobody"), handed("x", "Senior Writer"), "done"], ["written"])
    assert mode.kickoff(crew).raw == "done"
    assert "- Senior Writer" in asked(lead)[1] and "Lead" not in asked(lead)[1].partition("There are")[2]
    assert len(writer.requests) == 1 and crew.tasks[0].delegations == 1


def test_roles_are_called_as_they_are_in_the_run(mode: Mode):
    lead, expert = ScriptedLLM([handed("x", "expert on RAIN"), "done"], native_tools=True), ScriptedLLM(["known"])
    boss = agent(lead, "Lead", allow_delegation=True)
    crew = Crew(agents=[boss, agent(expert, "Expert on {topic}", goal="know {topic}")], tasks=[task("t", boss)])
    assert mode.kickoff(crew, {"topic": "rain"}).raw == "done"
    assert "Expert on rain" in str(lead.requests[0].tools) and "{topic}" not in str(lead.requests[0].tools)
    assert "know rain" in expert.requests[0].text
    assert crew.tasks[0].processed_by_agents == {"Lead", "Expert on rain"}


def test_who_is_not_allowed_to_cannot(mode: Mode):
    lead = ScriptedLLM(["done"])
    boss = agent(lead, "Lead")
    mode.kickoff(Crew(agents=[boss, agent(ScriptedLLM([]), "Other")], tasks=[task("t", boss)]))
    assert NAMED not in lead.requests[0].text


def test_a_coworker_uses_their_own_tools(mode: Mode):
    @tool
    def measure(what: str) -> str:
        """Measure something."""
        return f"{what}: 7"

    lead = ScriptedLLM([handed("measure", "Hand"), "done"])
    hand = ScriptedLLM([ToolUse("measure", {"what": "rain"}), "it is 7"])
    boss = agent(lead, "Lead", allow_delegation=True)
    crew = Crew(agents=[boss, agent(hand, "Hand", tools=[measure])], tasks=[task("t", boss)])
    assert mode.kickoff(crew).raw == "done"
    assert "rain: 7" in asked(hand)[1]
    assert crew.tasks[0].used_tools == 1  # the lead's own


def test_work_is_passed_on_once_unless_more_is_allowed(mode: Mode):
    scripts = [
        ScriptedLLM([handed("x", "Two"), "one"]),
        ScriptedLLM([handed("y", "Three"), "two"]),
        ScriptedLLM(["three"]),
    ]
    team: list[BaseAgent] = []
    for llm, role in zip(scripts, ("One", "Two", "Three"), strict=True):
        team.append(agent(llm, role, allow_delegation=True))
    crew = Crew(agents=team, tasks=[task("t", team[0])], max_delegation_depth=2)
    assert mode.kickoff(crew).raw == "one"
    once = ScriptedLLM(["two"])
    pair = [agent(ScriptedLLM([handed("x", "Two"), "one"]), "One", allow_delegation=True)]
    pair.append(agent(once, "Two", allow_delegation=True))
    mode.kickoff(Crew(agents=pair, tasks=[task("t", pair[0])]))
    assert NAMED not in once.requests[0].text
    assert NAMED in scripts[1].requests[0].text and NAMED not in scripts[2].requests[0].text
    assert "three" in asked(scripts[1])[1] and "two" in asked(scripts[0])[1]


def test_too_many_delegations_are_refused_to_the_model(mode: Mode):
    crew, lead, writer = pair([handed("x", "Senior Writer")] * 3 + ["done"], ["w1", "w2"], max_delegations=2)
    assert mode.kickoff(crew).raw == "done"
    assert len(writer.requests) == 2 and "2 times" in asked(lead)[-1]
    assert crew.tasks[0].delegations == 2


@pytest.mark.parametrize("by_role", [True, False])
def test_an_agent_may_be_allowed_to_ask_some_alone(mode: Mode, by_role: bool):
    lead = ScriptedLLM([handed("x", "Two"), handed("x", "Three"), "done"])
    two, three = agent(ScriptedLLM([]), "Two"), agent(ScriptedLLM(["three"]), "Three")
    boss = agent(lead, "Lead", allow_delegation=True, allowed_agents=["Three" if by_role else three])
    assert mode.kickoff(Crew(agents=[boss, two, three], tasks=[task("t", boss)])).raw == "done"
    assert "- Three" in asked(lead)[1] and "- Two" not in asked(lead)[1]


def test_a_role_that_yaml_ends_with_a_line_break_is_allowed_without_it(mode: Mode):
    lead = ScriptedLLM([handed("x", "Three"), "done"])
    three = agent(ScriptedLLM(["three"]), "Three\n")
    boss = agent(lead, "Lead", allow_delegation=True, allowed_agents=["Three"])
    assert mode.kickoff(Crew(agents=[boss, three], tasks=[task("t", boss)])).raw == "done"


@pytest.mark.parametrize("saver", ["sqlite", "memory"])
def test_a_run_continues_inside_a_delegation(mode: Mode, saver: str, tmp_path: Path):
    down = [True]

    @tool
    def look(what: str) -> str:
        """Look at something."""
        looked.append(what)
        return "seen"

    def second(messages: list[dict[str, Any]]) -> Any:
        if sum(message["role"] == "assistant" for message in messages) == 0:
            return ToolUse("look", {"what": "sky"})
        if down.pop() if down else False:
            raise ConnectionError("the line is dead")
        return "written"

    def first(messages: list[dict[str, Any]]) -> Any:
        asks.append(1)
        return "all done" if "written" in str(messages[-1]["content"]) else handed("x", "Hand")

    looked, asks = list[str](), list[int]()
    boss = agent(ScriptedLLM(first), "Lead", allow_delegation=True)
    team: list[BaseAgent] = [boss, agent(ScriptedLLM(second, native_tools=True), "Hand", tools=[look])]
    place: Any = SqliteCheckpointer(tmp_path / "runs.db") if saver == "sqlite" else InMemorySaver()
    crew = Crew(agents=team, tasks=[task("t", boss)], checkpointer=place)
    with pytest.raises(ConnectionError) as caught:
        mode.kickoff(crew, thread_id="t")
    assert any("agent `Hand`" in note for note in caught.value.__notes__)
    assert any("agent `Lead`" in note for note in caught.value.__notes__)
    assert mode.resume(crew, "t").raw == "all done"
    assert (looked, len(asks)) == (["sky"], 2)
    if saver == "sqlite":
        place.close()


def test_a_coworkers_tool_may_ask_people(mode: Mode):
    @tool
    def confirm(what: str) -> str:
        """Ask somebody."""
        return f"they said {interrupt(what)}"

    lead = ScriptedLLM([handed("x", "Hand"), "done"])
    hand = ScriptedLLM([ToolUse("confirm", {"what": "sure?"}), "confirmed"])
    boss = agent(lead, "Lead", allow_delegation=True)
    crew = Crew(agents=[boss, agent(hand, "Hand", tools=[confirm])], tasks=[task("t", boss)])
    graph, config = mode.compile(crew, checkpointer=InMemorySaver()), {"configurable": {"thread_id": "t"}}
    assert mode.invoke(graph, {"inputs": {}}, config)["__interrupt__"][0].value == "sure?"
    assert mode.invoke(graph, Command(resume="yes"), config)["t"]["raw"] == "done"
    assert "they said yes" in asked(hand)[1]
    assert (len(lead.requests), len(hand.requests)) == (2, 2)


def test_the_tools_work_on_their_own():
    writer = agent(ScriptedLLM(["written", "answered"]), "Writer")
    delegate, ask = AgentTools(agents=[writer]).tools()
    assert (delegate.name, ask.name) == (DELEGATE, ASK)
    assert delegate.run(task="x", context="y", coworker="writer") == "written"
    assert ask.run(question="x", context="y", coworker="writer") == "answered"
    with pytest.raises(ToolFailed, match="- Writer"):
        delegate.run(task="x", context="y", coworker="Nobody")
