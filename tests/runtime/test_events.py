"""The events of a run, and their order."""

import asyncio
import logging
from typing import Any

import pytest
from modes import Mode

from crewgraph import Crew, ScriptedLLM, TaskOutput, ToolUse
from crewgraph.definitions.agent.last_run import AgentAction, AgentFinish
from crewgraph.events import (
    AgentLogsExecutionEvent,
    AgentLogsStartedEvent,
    AgentStepEvent,
    BaseEvent,
    CrewKickoffCompletedEvent,
    CrewKickoffStartedEvent,
    TaskCompletedEvent,
    TaskStartedEvent,
    ToolUsageFinishedEvent,
    crewai_event_bus,
)
from crewgraph.testing import record_events
from crewgraph.tools import tool

from .parts import agent, crew, task


@tool
def look(i: int) -> str:
    """Look at something."""
    return f"<{i}>"


def busy() -> Crew:
    """A task that uses a tool, and one whose first attempt is refused."""

    def judge(output: TaskOutput) -> tuple[bool, str]:
        return ("good" in output.raw, output.raw if "good" in output.raw else "say good")

    worker = agent(ScriptedLLM([ToolUse("look", {"i": 1}), "seen"]), tools=[look])
    writer = agent(ScriptedLLM(["bad", "good"]), role="writer")
    return crew(task("first", worker), task("second", writer, guardrail=judge), name="busy")


ATTEMPT = [
    "agent_execution_started",
    "agent_logs_started",
    "llm_call_started",
    "llm_call_completed",
    "agent_step",
    "agent_logs_execution",
    "agent_execution_completed",
    "llm_guardrail_started",
    "llm_guardrail_completed",
]
WHOLE_RUN = [
    "crew_kickoff_started",
    "task_started",
    "agent_execution_started",
    "agent_logs_started",
    "llm_call_started",
    "llm_call_completed",
    "tool_usage_started",
    "tool_usage_finished",
    "agent_step",
    "agent_logs_execution",
    "llm_call_started",
    "llm_call_completed",
    "agent_step",
    "agent_logs_execution",
    "agent_execution_completed",
    "task_completed",
    "task_started",
    *ATTEMPT,
    *ATTEMPT,
    "task_completed",
    "crew_kickoff_completed",
]


def test_a_whole_run_is_reported_in_this_order(mode: Mode):
    with record_events() as events:
        mode.kickoff(busy())
    assert [event.type for event in events] == WHOLE_RUN


def test_the_compiled_graph_tells_the_same_but_the_kickoff(mode: Mode):
    with record_events() as events:
        mode.invoke(mode.compile(busy()), {"inputs": {}})
    assert [event.type for event in events] == WHOLE_RUN[1:-1]


def test_events_say_whom_they_are_about(mode: Mode):
    with record_events() as events:
        result = mode.kickoff(busy(), {"topic": "rain"}, thread_id="t")
    started, completed = events[0], events[-1]
    assert isinstance(started, CrewKickoffStartedEvent)
    assert isinstance(completed, CrewKickoffCompletedEvent)
    assert (started.crew_name, started.inputs, started.thread_id) == ("busy", {"topic": "rain"}, "t")
    assert (completed.output, completed.total_tokens) == (result, result.token_usage.total_tokens)
    of_tasks = [event for event in events if isinstance(event, (TaskStartedEvent, TaskCompletedEvent))]
    assert [(event.task_name, event.agent_role) for event in of_tasks] == [
        ("first", "worker"),
        ("first", "worker"),
        ("second", "writer"),
        ("second", "writer"),
    ]
    used = next(event for event in events if isinstance(event, ToolUsageFinishedEvent))
    assert (used.tool_name, used.tool_args, used.output, used.task_name) == ("look", {"i": 1}, "<1>", "first")
    assert all(event.timestamp is not None for event in events)


@pytest.mark.parametrize("inputs", [None, {}])
def test_the_event_of_the_start_says_whether_there_were_inputs(mode: Mode, inputs: dict[str, object] | None):
    def keep(given: dict[str, Any]) -> dict[str, Any]:
        return given

    one = crew(task("first", agent(ScriptedLLM(["done"], repeat_last=True))))
    with record_events() as events:
        mode.kickoff(one, inputs)
        one.before_kickoff_callbacks = [keep]
        mode.kickoff(one, inputs)
    assert [event.inputs for event in events if isinstance(event, CrewKickoffStartedEvent)] == [inputs, {}]


def test_every_event_of_a_run_can_be_written_down(mode: Mode):
    with record_events() as events:
        mode.kickoff(busy())
    assert [BaseEvent.model_validate_json(event.model_dump_json()).type for event in events] == WHOLE_RUN


def test_each_step_of_an_agent_is_an_event(mode: Mode):
    with record_events() as events:
        mode.kickoff(busy())
    steps = [event for event in events if isinstance(event, AgentStepEvent)]
    assert [(type(event.step), event.iteration) for event in steps] == [
        (AgentAction, 1),
        (AgentFinish, 2),
        (AgentFinish, 1),
        (AgentFinish, 1),
    ]


def test_what_is_answered_from_the_record_is_not_told_again(mode: Mode):
    llm = ScriptedLLM([ToolUse("look", {"i": 1}), ConnectionError("down"), "end"])
    made = crew(task("only", agent(llm, tools=[look])))
    with pytest.raises(ConnectionError):
        mode.kickoff(made, thread_id="t")
    with record_events() as events:
        mode.resume(made, "t")
    reported = [event.type for event in events]
    assert (reported.count("llm_call_started"), reported.count("tool_usage_started")) == (1, 0)
    assert (reported[0], reported[-1]) == ("crew_kickoff_started", "crew_kickoff_completed")


def test_a_failing_listener_does_no_harm(mode: Mode, caplog: pytest.LogCaptureFixture):
    with crewai_event_bus.scoped_handlers(), caplog.at_level(logging.ERROR, "crewgraph.events"):

        @crewai_event_bus.on(TaskStartedEvent)
        def broken(source: Any, event: Any) -> None:
            raise RuntimeError("the listener broke")

        assert mode.kickoff(busy()).raw == "good"
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]
    assert "broken` failed on the event `task_started`" in caplog.records[0].getMessage()


def test_async_listeners_have_heard_everything_when_a_run_ends(mode: Mode):
    reported: list[str] = []
    with crewai_event_bus.scoped_handlers():

        @crewai_event_bus.on(BaseEvent)
        async def _(source: Any, event: BaseEvent) -> None:
            await asyncio.sleep(0.001)
            reported.append(event.type)

        mode.kickoff(busy())
    assert sorted(reported) == sorted(WHOLE_RUN)


def test_listeners_of_a_scope_hear_only_the_runs_inside_it(mode: Mode):
    with record_events() as outer:
        mode.kickoff(crew(task("a", agent(ScriptedLLM(["x"])))))
        count = len(outer)
        with crewai_event_bus.scoped_handlers(), record_events() as inner:
            mode.kickoff(crew(task("b", agent(ScriptedLLM(["x"])))))
        assert len(outer) == count
        assert len(inner) == count


def test_the_events_of_runs_at_the_same_time_can_be_distinguished():
    made = [crew(task(f"t{n}", agent(ScriptedLLM(["x"], delay=0.01), role=f"r{n}")), name=f"c{n}") for n in range(8)]

    async def gathered() -> None:
        await asyncio.gather(*(one.akickoff() for one in made))

    with record_events() as events:
        asyncio.run(gathered())
    for n in range(8):
        mine = [
            event.type for event in events if event.task_name == f"t{n}" or getattr(event, "crew_name", "") == f"c{n}"
        ]
        assert mine == [
            "crew_kickoff_started",
            "task_started",
            "agent_execution_started",
            "llm_call_started",
            "llm_call_completed",
            "agent_step",
            "agent_execution_completed",
            "task_completed",
            "crew_kickoff_completed",
        ]


def test_an_agents_work_is_reported_by_the_agent_and_a_request_by_its_model(mode: Mode):
    llm, sources = ScriptedLLM(["done"]), dict[str, Any]()
    worker = agent(llm)

    def note(source: Any, event: BaseEvent) -> None:
        sources[event.type] = source

    with crewai_event_bus.scoped_handlers():
        crewai_event_bus.on(BaseEvent)(note)
        mode.kickoff(made := crew(task("only", worker)))
        crewai_event_bus.flush()
    assert sources["agent_execution_started"] is sources["agent_execution_completed"] is worker
    assert sources["llm_call_started"] is sources["llm_call_completed"] is llm
    assert sources["task_started"] is sources["task_completed"] is made.tasks[0]
    assert sources["crew_kickoff_started"] is made


def test_the_logs_of_an_agent_without_a_crew_name_it(mode: Mode):
    alone = agent(ScriptedLLM(["first"]))
    with record_events() as events:
        mode.run(alone.kickoff, alone.akickoff, "question")
    assert "agent_logs_execution" in [event.type for event in events]
    assert {event.agent_role for event in events} == {"worker"}


def test_the_logs_of_an_agent_say_whether_it_is_verbose(mode: Mode):
    quiet, loud = agent(ScriptedLLM(["first"])), agent(ScriptedLLM(["second"]), role="speaker", verbose=True)
    with record_events() as events:
        mode.kickoff(crew(task("one", quiet), task("two", loud)))
    logs = [event for event in events if isinstance(event, (AgentLogsStartedEvent, AgentLogsExecutionEvent))]
    assert [(event.type, event.agent_role, event.verbose) for event in logs] == [
        ("agent_logs_started", quiet.role, False),
        ("agent_logs_execution", quiet.role, False),
        ("agent_logs_started", "speaker", True),
        ("agent_logs_execution", "speaker", True),
    ]
