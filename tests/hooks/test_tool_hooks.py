"""Hooks before and after calls of tools."""

from typing import Any

import pytest
from modes import Mode

from crewgraph import Agent, Crew, Process, ScriptedLLM, Task
from crewgraph.events import ToolUsageFinishedEvent, crewai_event_bus
from crewgraph.hooks import (
    ToolCallHookContext,
    after_tool_call,
    before_tool_call,
    register_after_tool_call_hook,
    register_before_tool_call_hook,
)
from hooks.sample_crew import TideTable, act, crew_of, fin


def pilots(table: Any) -> tuple[ScriptedLLM, Crew]:
    llm = ScriptedLLM([act("tide_table", harbour="Brest"), fin("done")])
    return llm, crew_of(llm, table)


def test_arguments_changed_in_place_are_what_the_tool_gets(mode: Mode):
    @before_tool_call(tools=["tide table"])
    def elsewhere(ctx: ToolCallHookContext) -> None:
        ctx.tool_input["harbour"] = "Calais"

    llm, crew = pilots(table := TideTable())
    mode.kickoff(crew)
    assert table.looked_up == ["Calais"]
    assert "06:12 in Calais" in llm.requests[-1].text
    assert '"harbour": "Brest"' in llm.requests[-1].text


def test_arguments_that_a_hook_spoils_are_reported_to_the_model(mode: Mode):
    register_before_tool_call_hook(lambda ctx: ctx.tool_input.clear())
    llm, crew = pilots(table := TideTable())
    mode.kickoff(crew)
    assert table.looked_up == []
    assert "`harbour` is missing" in llm.requests[-1].text


def test_the_result_may_be_replaced(mode: Mode):
    seen: list[tuple[Any, ...]] = []

    @after_tool_call
    def replace(ctx: ToolCallHookContext) -> str:
        seen.append((ctx.tool_name, ctx.tool_input, ctx.tool_result, ctx.raw_tool_result))
        return "07:30"

    llm, crew = pilots(TideTable())
    mode.kickoff(crew)
    assert seen == [("tide_table", {"harbour": "Brest"}, "06:12 in Brest", "06:12 in Brest")]
    assert "Observation: 07:30" in llm.requests[-1].text
    assert "06:12" not in llm.requests[-1].text


def test_a_blocked_tool_is_not_called_and_the_model_is_told(mode: Mode):
    finished: list[Any] = []
    reported: list[str | None] = []
    register_before_tool_call_hook(lambda _: False)
    register_after_tool_call_hook(lambda ctx: reported.append(ctx.tool_result))
    llm, crew = pilots(table := TideTable())
    with crewai_event_bus.scoped_handlers():

        @crewai_event_bus.on(ToolUsageFinishedEvent)
        def note(_: object, event: ToolUsageFinishedEvent) -> None:
            finished.append(event.output)

        result = mode.kickoff(crew)
    assert table.looked_up == []
    assert reported[0] is not None and reported[0].startswith("`tide_table` was not called: a hook has blocked it")
    assert reported[0] in llm.requests[-1].text
    assert finished == reported
    assert (result.tool_failures, crew.tasks[0].tools_errors) == ([], 0)


def managed(*hooked: str) -> tuple[ScriptedLLM, ScriptedLLM, Crew]:
    worker = ScriptedLLM([fin("worked")])
    manager = ScriptedLLM(
        [act("Delegate work to coworker", task="Look", context="Brest", coworker="Pilot"), fin("managed")]
    )
    pilot = Agent(role="Pilot", goal="Bring ships in", backstory="At sea.", llm=worker)
    ask = Task(name="ask", description="When?", expected_output="A time")
    crew = Crew(agents=[pilot], tasks=[ask], process=Process.hierarchical, manager_llm=manager)
    return worker, manager, crew


def test_an_argument_that_was_hooked_before_a_crash_is_answered_from_the_record(mode: Mode):
    seen: list[str] = []

    @before_tool_call
    def elsewhere(ctx: ToolCallHookContext) -> None:
        seen.append(ctx.tool_input["harbour"])
        ctx.tool_input["harbour"] = "Calais"

    table = TideTable()
    broken = ScriptedLLM([act("tide_table", harbour="Brest"), *[ConnectionError("gone")] * 3])
    with pytest.raises(ConnectionError):
        mode.kickoff(crew_of(broken, table), thread_id="t")
    llm = ScriptedLLM([fin("done")])
    mode.resume(crew_of(llm, table), "t")
    assert (seen, table.looked_up) == (["Brest"], ["Calais"])
    assert "06:12 in Calais" in llm.requests[-1].text
