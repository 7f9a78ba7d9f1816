"""Delegation: the coworker's work is part of the delegating agent's work."""

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from modes import Mode
from waiting import LIMITS, LONG, BlockedCall

from crewgraph import Agent, BaseAgent, Crew, PendingCrew, ScriptedLLM, Task, ToolUse
from crewgraph.definitions.agent.delegation_tools import AgentTools, AskQuestionTool, DelegateTaskTool
from crewgraph.definitions.stream import Token
from crewgraph.definitions.task.output import TaskOutput
from crewgraph.errors import CompileError, ToolFailed
from crewgraph.events import (
    AgentExecutionStartedEvent,
    LLMCallStartedEvent,
    ToolUsageErrorEvent,
    ToolUsageFinishedEvent,
    crewai_event_bus,
)
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


def test_a_question_is_asked(mode: Mode):
    crew, lead, writer = pair([question("how many?", "Senior Writer"), "three it is"], ["three"])
    assert mode.kickoff(crew).raw == "three it is"
    assert "how many?" in writer.requests[0].text and "why I ask" in writer.requests[0].text
    assert "three" in asked(lead)[-1]


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


def test_braces_in_what_is_delegated_are_only_text(mode: Mode):
    crew, _, writer = pair([handed("fill {topic} and {other}", "Senior Writer"), "done"], ["written"])
    assert mode.kickoff(crew, {"topic": "rain"}).raw == "done"
    assert "fill {topic} and {other}" in writer.requests[0].text


def test_who_is_not_allowed_to_cannot(mode: Mode):
    lead = ScriptedLLM(["done"])
    boss = agent(lead, "Lead")
    mode.kickoff(Crew(agents=[boss, agent(ScriptedLLM([]), "Other")], tasks=[task("t", boss)]))
    assert NAMED not in lead.requests[0].text


def test_alone_there_is_nobody_to_ask(mode: Mode):
    lead = ScriptedLLM(["done"])
    boss = agent(lead, "Lead", allow_delegation=True)
    mode.kickoff(Crew(agents=[boss], tasks=[task("t", boss)]))
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


def test_several_coworkers_work_at_the_same_time(mode: Mode):
    together = threading.Barrier(2, timeout=LONG)

    def meet(_: Any) -> str:
        together.wait()
        return "met"

    lead = ScriptedLLM([[handed("x", "One"), handed("y", "Two")], "done"], native_tools=True)
    boss = agent(lead, "Lead", allow_delegation=True)
    others = [agent(ScriptedLLM(meet), "One"), agent(ScriptedLLM(meet), "Two")]
    assert mode.kickoff(Crew(agents=[boss, *others], tasks=[task("t", boss)])).raw == "done"
    assert [message["content"] for message in lead.requests[1].messages[-2:]] == ["met", "met"]


def test_work_is_passed_on_twice_at_the_most(mode: Mode):
    scripts = [
        ScriptedLLM([handed("x", "Two"), "one"]),
        ScriptedLLM([handed("y", "Three"), "two"]),
        ScriptedLLM(["three"]),
    ]
    team: list[BaseAgent] = []
    for llm, role in zip(scripts, ("One", "Two", "Three"), strict=True):
        team.append(agent(llm, role, allow_delegation=True))
    crew = Crew(agents=team, tasks=[task("t", team[0])])
    assert mode.kickoff(crew).raw == "one"
    assert NAMED in scripts[1].requests[0].text and NAMED not in scripts[2].requests[0].text
    assert "three" in asked(scripts[1])[1] and "two" in asked(scripts[0])[1]


def test_the_depth_can_be_bounded(mode: Mode):
    lead, second = ScriptedLLM([handed("x", "Two"), "one"]), ScriptedLLM(["two"])
    team: list[BaseAgent] = [agent(lead, "One", allow_delegation=True), agent(second, "Two", allow_delegation=True)]
    mode.kickoff(Crew(agents=team, tasks=[task("t", team[0])], max_delegation_depth=1))
    assert NAMED not in second.requests[0].text


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


def test_a_role_that_nobody_has_cannot_be_allowed(mode: Mode):
    boss = agent(ScriptedLLM([]), "Lead", allow_delegation=True, allowed_agents=["Writter"])
    crew = Crew(agents=[boss, agent(ScriptedLLM([]), "Writer")], tasks=[task("t", boss)])
    with pytest.raises(CompileError, match="`Writter`; the other agents of the crew are `Writer`"):
        mode.kickoff(crew)


def test_usage_is_reported_by_agent(mode: Mode):
    crew, lead, writer = pair([handed("x", "Senior Writer"), "done"], ["written"])
    lead._usage = writer._usage = {"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3}  # pyright: ignore[reportPrivateUsage]
    result = mode.kickoff(crew)
    assert {role: used.total_tokens for role, used in result.usage_by_agent.items()} == {"Lead": 6, "Senior Writer": 3}
    assert result.token_usage.total_tokens == 9
    again = TaskOutput.from_plain(result.tasks_output[0].to_plain())
    assert again.usage_by_agent == result.tasks_output[0].usage_by_agent


def test_events_say_who_works_on_what(mode: Mode):
    crew, _, _ = pair([handed("x", "Senior Writer"), handed("x", "Nobody"), "done"], ["written"])
    reported: list[str] = []
    with crewai_event_bus.scoped_handlers():

        @crewai_event_bus.on(AgentExecutionStartedEvent)
        def began(_: Any, event: AgentExecutionStartedEvent) -> None:
            reported.append(f"agent {event.agent_role} on {event.task.description}")

        @crewai_event_bus.on(ToolUsageFinishedEvent)
        def used(_: Any, event: ToolUsageFinishedEvent) -> None:
            reported.append(f"{event.agent_role} used {event.tool_name}: {event.output}")

        @crewai_event_bus.on(ToolUsageErrorEvent)
        def failed(_: Any, event: ToolUsageErrorEvent) -> None:
            reported.append(f"{event.agent_role} could not use {event.tool_name}")

        @crewai_event_bus.on(LLMCallStartedEvent)
        def asks(_: Any, event: LLMCallStartedEvent) -> None:
            reported.append(f"{event.agent_role} asks")

        mode.kickoff(crew)
    assert [one for one in reported if not one.endswith("asks")] == [
        "agent Lead on do report",
        "agent Senior Writer on x",
        "Lead used delegate_work_to_coworker: written",
        "Lead could not use delegate_work_to_coworker",
    ]
    assert [one for one in reported if one.endswith("asks")].count("Senior Writer asks") == 1


def test_the_stream_names_the_coworker(mode: Mode):
    crew, lead, writer = pair([handed("x", "Senior Writer"), "done"], ["written"])
    lead.stream = writer.stream = True
    tokens = {(item.task, item.agent) for item in mode.stream_items(crew) if isinstance(item, Token)}
    assert tokens == {("report", "Lead"), ("report", "Senior Writer")}


class Runs(BaseCallbackHandler):
    """Notes what each run of a trace is a part of."""

    def __init__(self) -> None:
        self.names: dict[Any, str] = {}
        self.parents: dict[str, str | None] = {}

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: Any, parent_run_id: Any = None, **kwargs: Any):
        name = str(kwargs.get("name"))
        self.names[run_id] = name
        self.parents[name] = self.names.get(parent_run_id)


def test_the_trace_shows_the_coworker_inside(mode: Mode):
    if mode.granularity == "step":
        pytest.skip("a span cannot be open across the steps of a graph")
    crew, _, _ = pair([handed("x", "Senior Writer"), "done"], ["written"])
    seen = Runs()
    mode.invoke(crew.compile(checkpointer=False), {"inputs": {}}, {"callbacks": [seen]})
    assert seen.parents["Agent: Senior Writer"] == DELEGATE
    assert seen.parents[DELEGATE] == "Agent: Lead"


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


def test_a_coworker_without_time_is_told_to_whoever_asked(mode: Mode):
    for seconds in LIMITS:
        with BlockedCall() as late:
            lead = ScriptedLLM([handed("x", "Hand"), "did it myself"])
            boss, hand = agent(lead, "Lead", allow_delegation=True), agent(ScriptedLLM(late), "Hand")
            hand.max_execution_time = seconds
            assert mode.kickoff(Crew(agents=[boss, hand], tasks=[task("t", boss)])).raw == "did it myself"
        assert "`Hand` failed" in asked(lead)[1]
        if late.started.is_set():
            break
    else:
        raise AssertionError("it never began")
    assert late.ended.wait(LONG)
    time.sleep(0.2)  # what the request tells in the end is not for the next test's ears


def test_a_coworker_with_a_way_of_their_own_works_in_it(mode: Mode):
    class Poet(Agent):
        def execute_task(self, task: Any, context: Any = None, tools: Any = None) -> str:
            return f"a poem on {task.description}, knowing {context}"

    lead = ScriptedLLM([handed("rain", "Poet", "spring"), "done"])
    boss = agent(lead, "Lead", allow_delegation=True)
    crew = Crew(agents=[boss, Poet(role="Poet", goal="g", backstory="b")], tasks=[task("t", boss)])
    assert mode.kickoff(crew).raw == "done"
    assert "a poem on rain, knowing spring" in asked(lead)[1]


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


def test_a_patched_task_gets_the_tools_to_ask_others(monkeypatch: pytest.MonkeyPatch):
    given: list[Any] = []

    def execute_sync(self: Task, agent: Any = None, context: Any = None, tools: Any = None) -> TaskOutput:
        given.extend(tools)
        return TaskOutput(description=self.description, raw="mine", agent=agent.role)

    monkeypatch.setattr(Task, "execute_sync", execute_sync)
    crew, _, _ = pair([], [])
    assert crew.kickoff().raw == "mine"
    assert [type(one) for one in given] == [DelegateTaskTool, AskQuestionTool]


def test_ours_called_from_a_users_version_hands_over_as_well(mode: Mode):
    class Noting(Task):
        def execute_sync(self, agent: Any = None, context: Any = None, tools: Any = None) -> TaskOutput:
            return super().execute_sync(agent, context, tools)

    lead, writer = ScriptedLLM([handed("x", "Writer"), "done"]), ScriptedLLM(["written"])
    boss = agent(lead, "Lead", allow_delegation=True)
    noting = Noting(name="t", description="d", expected_output="e", agent=boss)
    assert mode.kickoff(Crew(agents=[boss, agent(writer, "Writer")], tasks=[noting])).raw == "done"
    assert "written" in asked(lead)[1]


def test_the_tools_work_on_their_own():
    writer = agent(ScriptedLLM(["written", "answered"]), "Writer")
    delegate, ask = AgentTools(agents=[writer]).tools()
    assert (delegate.name, ask.name) == (DELEGATE, ASK)
    assert delegate.run(task="x", context="y", coworker="writer") == "written"
    assert ask.run(question="x", context="y", coworker="writer") == "answered"
    with pytest.raises(ToolFailed, match="- Writer"):
        delegate.run(task="x", context="y", coworker="Nobody")


def test_what_a_coworker_gave_is_not_taken_from_the_cache(mode: Mode):
    crew, _, writer = pair([handed("x", "Senior Writer"), handed("x", "Senior Writer"), "done"], ["one", "two"])
    assert mode.kickoff(crew).raw == "done"
    assert len(writer.requests) == 2


def test_the_steps_of_a_coworker_are_steps_of_the_task():
    crew, _, _ = pair([handed("x", "Senior Writer"), "done"], ["written"])
    reported = crew.compile(granularity="step", checkpointer=False).stream(
        {"inputs": {}}, subgraphs=True, stream_mode="updates"
    )
    assert [next(iter(update)) for place, update in reported if place] == ["model", "tools", "model", "finish"]


def test_the_tools_are_described_in_the_words_of_a_prompt_file(mode: Mode, tmp_path: Path):
    texts = tmp_path / "texts.json"
    texts.write_text('{"tools": {"delegate_work": "Give work to {coworkers}!"}}', "utf-8")
    crew, lead, _ = pair(["done"], [], prompt_file=str(texts))
    mode.kickoff(crew)
    assert "Give work to Senior Writer!" in lead.requests[0].text


def test_a_coworker_asks_in_the_name_of_the_task(mode: Mode):
    @tool(require_approval=True)
    def post(letter: str) -> str:
        """Post a letter."""
        return f"posted {letter}"

    lead = ScriptedLLM([handed("x", "Hand"), "done"])
    hand = ScriptedLLM([ToolUse("post", {"letter": "dear"}), "sent"])
    boss = agent(lead, "Lead", allow_delegation=True)
    crew = Crew(agents=[boss, agent(hand, "Hand", tools=[post])], tasks=[task("report", boss)])
    waiting = mode.kickoff(crew)
    assert isinstance(waiting, PendingCrew) and waiting.thread_id is not None
    (question,) = waiting.questions
    assert (question.task, question.agent, question.tool, question.args) == (
        "report",
        "Hand",
        "post",
        {"letter": "dear"},
    )
    assert mode.run(crew.resume, crew.aresume, waiting.thread_id, "yes").raw == "done"
    assert "posted dear" in asked(hand)[1] and len(lead.requests) == 2
