"""The context of running code (`crewai.context`, `crewai.execution`), and the order of dependent event handlers."""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from contextvars import copy_context
from typing import Any, TypeVar

import pytest
from crewgraph_compat.stand_ins.context import (
    ExecutionContext,
    ExecutionTrace,
    apply_execution_context,
    begin_execution,
    capture_execution_context,
    clear_execution_uuid,
    end_execution,
    get_current_task_id,
    get_execution_uuid,
    get_platform_integration_token,
    platform_context,
    reset_current_task_id,
    set_current_task_id,
    set_execution_uuid,
    set_platform_integration_token,
)
from crewgraph_compat.stand_ins.events import HandlerGraph, build_execution_plan

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.events.bus import CircularDependencyError, Depends
from crewgraph.flow import Flow, start

T = TypeVar("T")


def apart(work: Callable[[], T]) -> T:
    """What some code gives whose context is its own."""
    return copy_context().run(work)


def test_the_platforms_token_is_the_one_of_the_block_then_of_the_context_then_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
):
    def reported() -> list[str | None]:
        found = [get_platform_integration_token()]
        set_platform_integration_token("set")
        with platform_context("block"):
            found.append(get_platform_integration_token())
        return [*found, get_platform_integration_token()]

    monkeypatch.delenv("CREWAI_PLATFORM_INTEGRATION_TOKEN", raising=False)
    assert apart(reported) == [None, "block", "set"]
    monkeypatch.setenv("CREWAI_PLATFORM_INTEGRATION_TOKEN", "variable")
    assert apart(reported) == ["variable", "block", "set"] and get_platform_integration_token() == "variable"


def test_code_knows_the_task_it_works_on():
    seen: list[tuple[str | None, str | None]] = []

    def look() -> str:
        """Look."""
        seen.append((get_current_task_id(), capture_execution_context().current_task_id))
        return "three boats"

    llm = ScriptedLLM(["Action: look\nAction Input: {}", "Final Answer: three"], native_tools=False)
    clerk = Agent(role="Clerk", goal="g", backstory="b", llm=llm, tools=[look])
    task = Task(description="d", expected_output="e", agent=clerk)
    Crew(agents=[clerk], tasks=[task]).kickoff()
    assert seen == [(str(task.id), str(task.id))] and get_current_task_id() is None
    token = set_current_task_id("7")
    assert get_current_task_id() == "7"
    reset_current_task_id(token)
    assert get_current_task_id() is None


def test_what_is_around_some_code_can_be_put_around_other_code():
    class Harbour(Flow[Any]):
        @start()
        def look(self) -> dict[str, Any]:
            return capture_execution_context({"asks": "Anna"}).model_dump()

    harbour = Harbour()
    taken = harbour.kickoff()
    assert (taken["flow_id"], taken["flow_method_name"]) == (harbour.flow_id, "look")
    assert taken["feedback_callback_info"] == {"asks": "Anna"}
    taken["event_id_stack"] = [("1", "flow_started")]

    def put() -> ExecutionContext:
        apply_execution_context({**taken, "current_task_id": "7", "platform_token": "p", "emission_sequence": 4})
        return capture_execution_context()

    there = apart(put)
    assert (there.current_task_id, there.platform_token, there.emission_sequence) == ("7", "p", 4)
    assert (there.flow_id, there.event_id_stack) == (taken["flow_id"], (("1", "flow_started"),))
    here = capture_execution_context()
    assert (here.current_task_id, here.flow_id, here.platform_token) == (None, None, None)


def test_an_execution_within_another_is_a_part_of_it():
    def nested() -> list[str | None]:
        outer = begin_execution("one")
        inner = begin_execution("two")
        assert inner is None and end_execution(inner) is None
        within = get_execution_uuid()
        end_execution(outer)
        return [within, get_execution_uuid()]

    assert apart(nested) == ["one", None]
    token = set_execution_uuid("own")
    assert get_execution_uuid() == "own"
    clear_execution_uuid(token)
    assert get_execution_uuid() is None


def test_an_execution_that_ends_is_cleaned_up_once_unless_that_is_to_wait():
    cleaned: list[str] = []

    def trace(name: str) -> ExecutionTrace:
        cleanup = ExitStack()
        cleanup.callback(cleaned.append, name)
        return ExecutionTrace(session=None, cleanup=cleanup)

    def work() -> None:
        end_execution(begin_execution(trace_session=trace("at once")))
        assert cleaned == ["at once"]
        waits = end_execution(begin_execution(trace_session=trace("later")), defer=True)
        assert waits is not None and not waits.closed and cleaned == ["at once"]
        waits.finish()
        waits.finish()

    apart(work)
    assert cleaned == ["at once", "later"]


def test_a_run_is_an_execution_of_its_own():
    seen: list[str | None] = []
    clerk = Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM(["x"], repeat_last=True))

    def done(output: Any) -> None:
        seen.append(get_execution_uuid())

    task = Task(description="d", expected_output="e", agent=clerk, callback=done)
    made = Crew(agents=[clerk], tasks=[task])
    made.kickoff()
    asyncio.run(made.akickoff())
    assert all(seen) and len({*seen}) == 2 and get_execution_uuid() is None


def first(source: Any, event: Any) -> None: ...


def second(source: Any, event: Any) -> None: ...


def third(source: Any, event: Any) -> None: ...


def alone(source: Any, event: Any) -> None: ...


def test_handlers_are_called_in_steps_in_the_order_of_what_they_depend_on():
    after = {second: [Depends(first)], third: [Depends(second), Depends(first)]}
    assert build_execution_plan([third, second, first, alone], after) == [{first, alone}, {second}, {third}]
    assert build_execution_plan([], {}) == []
    assert HandlerGraph({second: [Depends(first)], first: []}).get_execution_plan() == [{first}, {second}]


def test_handlers_that_wait_for_one_another_are_named_and_one_that_is_not_there_holds_nobody_up():
    with pytest.raises(CircularDependencyError, match="`first`, `second` wait for one another") as reported:
        build_execution_plan([first, second, third], {first: [Depends(second)], second: [Depends(first)]})
    assert reported.value.handlers == [first, second]
    assert build_execution_plan([second], {second: [Depends(first)]}) == [{second}]
