"""The lineage of events: scopes, order and triggers."""

import asyncio
import threading
from typing import Any

import pytest
from combinations import CREW_MODES
from modes import Mode

from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.events import BaseEvent, CrewKickoffCompletedEvent, TaskCompletedEvent, crewai_event_bus
from crewgraph.events.lineage import LINEAGE
from crewgraph.flow import Flow, listen, router, start
from crewgraph.testing import record_events
from crewgraph.tools import tool


@tool
def look(what: str) -> str:
    """Look at something."""
    return "high"


def crew(**given: Any) -> Crew:
    model = ScriptedLLM([ToolUse("look", {"what": "sea"}), "Final Answer: high"])
    clerk = Agent(role="Clerk", goal="g", backstory="b", llm=model, tools=[look], cache=False)
    return Crew(agents=[clerk], tasks=[Task(name="t", description="d", expected_output="e", agent=clerk)], **given)


def describe(events: list[BaseEvent]) -> list[str]:
    """Each event with the numbers of its parent, of what it began with, and of what set it off."""
    numbers = {one.event_id: one.emission_sequence for one in events}

    def of(name: str | None) -> Any:
        return "-" if name is None else numbers.get(name, "?")

    return [
        f"{one.emission_sequence} {one.type} {of(one.parent_event_id)} {of(one.started_event_id)} "
        f"{of(one.triggered_by_event_id)}"
        for one in sorted(events, key=lambda one: one.emission_sequence or 0)
    ]


OF_A_CREW = [
    "1 crew_kickoff_started - - -", "2 task_started 1 - -", "3 agent_execution_started 2 - -",
    "4 agent_logs_started 3 - -", "5 llm_call_started 3 - -", "6 llm_call_completed 3 5 -",
    "7 tool_usage_started 3 - -", "8 tool_usage_finished 3 7 -", "9 agent_step 3 - -",
    "10 agent_logs_execution 3 - -", "11 llm_call_started 3 - -", "12 llm_call_completed 3 11 -",
    "13 agent_step 3 - -", "14 agent_logs_execution 3 - -", "15 agent_execution_completed 2 3 -",
    "16 task_completed 1 2 -", "17 crew_kickoff_completed - 1 -",
]  # fmt: skip


@pytest.mark.parametrize("mode", CREW_MODES)
def test_what_happens_in_a_crew_is_in_the_scope_of_what_began_it(mode: str):
    with record_events() as events:
        Mode(mode).kickoff(crew(), checkpointer=False)
    assert describe(events) == OF_A_CREW
    assert [one.previous_event_id for one in events] == [None, *(one.event_id for one in events[:-1])]
    assert LINEAGE.get()[:3] == ((), None, None)


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_stream_leaves_the_code_around_it_where_it_stood(mode: str):
    with record_events() as events:
        for _ in Mode(mode).stream_items(crew(), checkpointer=False):
            assert LINEAGE.get().scopes == ()
    assert describe([one for one in events if one.type != "llm_stream_chunk"]) == OF_A_CREW


@pytest.mark.parametrize("mode", CREW_MODES)
def test_an_end_says_what_it_began_with_where_nobody_heard_that(mode: str):
    ends: list[BaseEvent] = []
    with crewai_event_bus.scoped_handlers():
        for kind in (TaskCompletedEvent, CrewKickoffCompletedEvent):
            crewai_event_bus.register_handler(kind, lambda _, event: ends.append(event))
        Mode(mode).kickoff(crew(), checkpointer=False)
    task, run = ends
    assert (task.emission_sequence, run.emission_sequence) == (3, 4)
    assert task.parent_event_id == run.started_event_id is not None
    assert task.started_event_id not in (None, task.parent_event_id)
    assert (task.previous_event_id, run.previous_event_id) == (task.started_event_id, task.event_id)


def test_each_run_is_counted_from_1():
    with record_events() as events:
        for _ in range(2):
            crew().kickoff(checkpointer=False)
    assert [one.emission_sequence for one in events] == [*range(1, 18), *range(1, 18)]


class Walk(Flow[Any]):
    @start()
    def a(self) -> int:
        return 1

    @router(a)
    def way(self) -> str:
        return "up"

    @listen("up")
    def b(self) -> str:
        return crew().kickoff(checkpointer=False).raw

    @listen("up")
    def c(self) -> int:
        return 2

    @listen(b)
    def z(self) -> int:
        return 3


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_methods_of_a_flow_say_what_set_them_off(mode: str):
    flow = Walk()
    with record_events() as events:
        Mode(mode).run(flow.kickoff, flow.akickoff)
    by_id = {one.event_id: one for one in events}

    def named(name: str | None) -> str | None:
        one: Any = None if name is None else by_id[name]
        return None if one is None else getattr(one, "method_name", one.type)

    methods: Any = {
        (getattr(one, "method_name", None), one.type.rpartition("_")[2]): (
            named(one.parent_event_id),
            named(one.triggered_by_event_id),
        )
        for one in events
        if one.type.startswith("method_")
    }
    assert methods == {
        (name, end): ("flow_started", cause)
        for name, cause in {"a": None, "way": "a", "b": "way", "c": "way", "z": "b"}.items()
        for end in ("started", "finished")
    }
    inside = [one for one in events if one.type == "crew_kickoff_started"]
    assert [(named(one.parent_event_id), named(one.triggered_by_event_id)) for one in inside] == [("b", "way")]
    ends = [one for one in events if one.type == "method_execution_finished"]
    assert all(named(one.started_event_id) == getattr(one, "method_name", "") for one in ends)


def test_a_run_that_failed_leaves_no_scope_open():
    model = ScriptedLLM([])
    clerk = Agent(role="Clerk", goal="g", backstory="b", llm=model, max_retry_limit=0)
    failing = Crew(agents=[clerk], tasks=[Task(description="d", expected_output="e", agent=clerk)])
    with record_events() as events, pytest.raises(Exception):  # noqa: B017
        failing.kickoff(checkpointer=False)
    assert describe(events)[-1].startswith(f"{len(events)} crew_kickoff_failed - 1")
    assert LINEAGE.get().scopes == ()


def test_two_runs_at_once_count_for_themselves():
    with record_events() as events:
        threads = [threading.Thread(target=lambda: crew().kickoff(checkpointer=False)) for _ in range(3)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    assert sorted(one.emission_sequence or 0 for one in events) == sorted([*range(1, 18)] * 3)


def test_the_run_around_a_tool_is_known():
    seen: list[bool] = []

    @tool
    def told_of(what: str) -> str:
        """Tell."""
        seen.append(LINEAGE.get().run is not None)
        return "x"

    model = ScriptedLLM([ToolUse("told_of", {"what": "sea"}), "Final Answer: high"] * 2)
    clerk = Agent(role="Clerk", goal="g", backstory="b", llm=model, tools=[told_of])
    made = Crew(agents=[clerk], tasks=[Task(name="t", description="d", expected_output="e", agent=clerk)], cache=False)
    made.kickoff(checkpointer=False)
    asyncio.run(made.akickoff(checkpointer=False))
    assert seen == [True] * 2
