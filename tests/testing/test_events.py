"""Recorded events, and what is asserted of them."""

import pytest
from modes import Mode

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.events import (
    CrewKickoffCompletedEvent,
    CrewKickoffStartedEvent,
    TaskCompletedEvent,
    TaskFailedEvent,
    TaskStartedEvent,
    crewai_event_bus,
)
from crewgraph.testing import EventLog, record_events


def played(mode: Mode) -> EventLog:
    agent = Agent(role="Clerk", goal="Count", backstory="Careful.", llm=ScriptedLLM(["one", "two"]))
    tasks = [Task(name=name, description=name, expected_output="x", agent=agent) for name in ("a", "b")]
    with record_events() as events:
        mode.kickoff(Crew(agents=[agent], tasks=tasks))
    return events


def test_events_are_recorded_alongside_other_handlers(mode: Mode):
    received: list[str] = []
    with crewai_event_bus.scoped_handlers():

        @crewai_event_bus.on(TaskStartedEvent)
        def _(source: object, event: TaskStartedEvent) -> None:
            received.append(event.type)

        events = played(mode)
        played(mode)
    assert len(received) == 4
    assert events.types[0] == "crew_kickoff_started" and events.types[-1] == "crew_kickoff_completed"
    assert [event.task_name for event in events.of(TaskStartedEvent)] == ["a", "b"]


def test_assertions_that_hold_return_what_they_found(mode: Mode):
    events = played(mode)
    assert events.assert_emitted(TaskStartedEvent, task_name="b").task_name == "b"
    assert len(events.assert_emitted(TaskStartedEvent, times=2)) == 2
    assert events.assert_emitted(TaskFailedEvent, times=0) == []
    events.assert_not_emitted(TaskFailedEvent)
    events.assert_not_emitted(TaskStartedEvent, task_name="c")
    events.assert_order(CrewKickoffStartedEvent, TaskStartedEvent, TaskStartedEvent, CrewKickoffCompletedEvent)


def test_assertions_that_fail_tell_what_there_is(mode: Mode):
    events = played(mode)
    with pytest.raises(AssertionError, match=r"expected an event `TaskFailedEvent`; there are: crew_kickoff_started, "):
        events.assert_emitted(TaskFailedEvent)
    with pytest.raises(AssertionError, match=r"`TaskStartedEvent`, task_name='c'; there are 0 of 2, with: .*'a'"):
        events.assert_emitted(TaskStartedEvent, task_name="c")
    with pytest.raises(AssertionError, match=r"expected 3 events `TaskStartedEvent`; there are 2"):
        events.assert_emitted(TaskStartedEvent, times=3)
    with pytest.raises(AssertionError, match=r"expected no event `TaskStartedEvent`; there are 1"):
        events.assert_not_emitted(TaskStartedEvent, task_name="a")
    with pytest.raises(AssertionError, match=r"expected an event `TaskStartedEvent` after `CrewKickoffCompletedEvent`"):
        events.assert_order(TaskCompletedEvent, CrewKickoffCompletedEvent, TaskStartedEvent)
    with pytest.raises(AssertionError, match="there are: none"):
        EventLog().assert_order(TaskStartedEvent)
