"""The events of a run, and their order."""

import asyncio
import logging
from typing import Any

import pytest
from modes import Mode

from crewgraph import Crew, ScriptedLLM, TaskOutput, ToolUse
from crewgraph.events import (
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
    "agent_execution_started", "agent_logs_started", "llm_call_started", "llm_call_completed", "agent_step",
    "agent_logs_execution", "agent_execution_completed", "llm_guardrail_started", "llm_guardrail_completed",
]  # fmt: skip
WHOLE_RUN = [
    "crew_kickoff_started", "task_started", "agent_execution_started", "agent_logs_started", "llm_call_started",
    "llm_call_completed", "tool_usage_started", "tool_usage_finished", "agent_step", "agent_logs_execution",
    "llm_call_started", "llm_call_completed", "agent_step", "agent_logs_execution", "agent_execution_completed",
    "task_completed", "task_started", *ATTEMPT, *ATTEMPT, "task_completed", "crew_kickoff_completed",
]  # fmt: skip


def test_a_whole_run_is_reported_in_this_order(mode: Mode):
    with record_events() as events:
        mode.kickoff(busy())
    assert [event.type for event in events] == WHOLE_RUN


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
        ("first", "worker"), ("first", "worker"), ("second", "writer"), ("second", "writer"),
    ]  # fmt: skip
    used = next(event for event in events if isinstance(event, ToolUsageFinishedEvent))
    assert (used.tool_name, used.tool_args, used.output, used.task_name) == ("look", {"i": 1}, "<1>", "first")
    assert all(event.timestamp is not None for event in events)


def test_every_event_of_a_run_can_be_written_down(mode: Mode):
    with record_events() as events:
        mode.kickoff(busy())
    assert [BaseEvent.model_validate_json(event.model_dump_json()).type for event in events] == WHOLE_RUN


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
            "crew_kickoff_started", "task_started", "agent_execution_started", "llm_call_started",
            "llm_call_completed", "agent_step", "agent_execution_completed", "task_completed",
            "crew_kickoff_completed",
        ]  # fmt: skip
