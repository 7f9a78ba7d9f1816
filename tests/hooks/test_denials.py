"""A hook that denies: the run ends there, and its caller gets the hook's own exception."""

import asyncio
from typing import Any

import pytest
from modes import Mode

from crewgraph import Agent, ScriptedLLM, ToolUse
from crewgraph.events import (
    BaseEvent,
    CrewKickoffFailedEvent,
    LLMCallCompletedEvent,
    LLMCallFailedEvent,
    TaskFailedEvent,
    ToolUsageErrorEvent,
    ToolUsageFinishedEvent,
    crewai_event_bus,
)
from crewgraph.flow import Flow, start
from crewgraph.hooks import HookAborted, InterceptionPoint, clear_all_hooks, register_hook
from crewgraph.tools import tool
from hooks.sample_crew import TideTable, act, crew_of, fin
from hooks.test_tool_hooks import managed

POINT = InterceptionPoint


class TooDear(HookAborted):
    """A deny of the program's own kind."""


def deny(point: InterceptionPoint) -> list[str]:
    """Deny at a point; the list has an entry for each time that it was asked."""
    asked: list[str] = []

    def no(_: Any) -> None:
        asked.append(point)
        raise TooDear("over budget", "accounting")

    register_hook(point, no)
    return asked


def denied(error: pytest.ExceptionInfo[TooDear]) -> tuple[object, ...]:
    return type(error.value), error.value.reason, error.value.source


DENIED = (TooDear, "over budget", "accounting")


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(
    ("point", "requests", "looked_up"),
    [
        (POINT.EXECUTION_START, 0, []), (POINT.INPUT, 0, []), (POINT.PRE_STEP, 0, []),
        (POINT.PRE_MODEL_CALL, 0, []), (POINT.POST_MODEL_CALL, None, None), (POINT.POST_TOOL_CALL, 1, ["Brest"]),
        (POINT.POST_STEP, 2, ["Brest"]), (POINT.OUTPUT, 2, ["Brest"]), (POINT.EXECUTION_END, 2, ["Brest"]),
    ],
)  # fmt: skip
def test_a_deny_ends_the_run_and_reaches_the_caller(
    mode: Mode, native: bool, point: InterceptionPoint, requests: int | None, looked_up: list[str] | None
):
    call: Any = [ToolUse("tide_table", {"harbour": "Brest"})] if native else act("tide_table", harbour="Brest")
    llm = ScriptedLLM([call, "done" if native else fin("done")], native_tools=native)
    crew = crew_of(llm, table := TideTable())
    crew.tasks[0].guardrail_max_retries = crew.agents[0].max_retry_limit = 3
    asked = deny(point)
    with pytest.raises(TooDear) as error:
        mode.kickoff(crew)
    assert (denied(error), len(asked)) == (DENIED, 1)
    if requests is not None:
        assert (len(llm.requests), table.looked_up) == (requests, looked_up)


def test_a_deny_before_a_tool_call_blocks_the_call_and_the_model_is_told(mode: Mode):
    deny(POINT.PRE_TOOL_CALL)
    llm = ScriptedLLM([act("tide_table", harbour="Brest"), fin("done")])
    assert mode.kickoff(crew_of(llm, table := TideTable())).raw == "done"
    assert table.looked_up == []
    assert "over budget" in llm.requests[-1].text


def test_a_call_that_was_denied_afterwards_is_not_made_again(mode: Mode):
    crew = crew_of(ScriptedLLM([act("tide_table", harbour="Brest")]), table := TideTable())
    asked = deny(POINT.POST_TOOL_CALL)
    with pytest.raises(TooDear) as error:
        mode.kickoff(crew, thread_id="t")
    assert not any("continues the run" in note for note in error.value.__notes__)
    clear_all_hooks()
    with pytest.raises(HookAborted, match="over budget"):
        mode.resume(crew_of(ScriptedLLM([]), table), "t")
    assert (table.looked_up, len(asked)) == (["Brest"], 1)


def test_a_request_that_was_denied_before_it_was_made_is_made_when_the_run_is_resumed(mode: Mode):
    deny(POINT.PRE_MODEL_CALL)
    with pytest.raises(TooDear):
        mode.kickoff(crew_of(ScriptedLLM([])), thread_id="t")
    clear_all_hooks()
    assert mode.resume(crew_of(ScriptedLLM([fin("six")])), "t").raw == "six"


@pytest.mark.parametrize("point", [POINT.PRE_MODEL_CALL, POINT.POST_TOOL_CALL])
def test_a_deny_inside_delegated_work_ends_the_run(mode: Mode, point: InterceptionPoint):
    _, manager, crew = managed()

    def no(context: Any) -> None:
        if point is POINT.POST_TOOL_CALL or context.agent.role == "Pilot":
            raise TooDear("over budget", "accounting")

    register_hook(point, no)
    with pytest.raises(TooDear) as error:
        mode.kickoff(crew)
    assert (denied(error), len(manager.requests)) == (DENIED, 1)


def test_a_deny_in_a_crew_that_a_tool_runs_ends_the_run_around_it(mode: Mode):
    @tool("ask_inside")
    def ask_inside() -> str:
        """Ask another crew."""
        return crew_of(ScriptedLLM([fin("inside")])).kickoff({"inside": True}).raw

    def no(context: Any) -> None:
        if context.inputs.get("inside"):
            raise TooDear("over budget", "accounting")

    register_hook(POINT.EXECUTION_START, no)
    llm = ScriptedLLM([act("ask_inside"), fin("done")])
    with pytest.raises(TooDear) as error:
        mode.kickoff(crew_of(llm, ask_inside))
    assert (denied(error), len(llm.requests)) == (DENIED, 1)


class CrewInFlow(Flow[Any]):
    @start()
    def work(self) -> str:
        return crew_of(ScriptedLLM([act("tide_table", harbour="Brest"), fin("done")]), TideTable()).kickoff().raw


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("point", [point for point in POINT if point is not POINT.PRE_TOOL_CALL])
def test_a_deny_ends_a_flow_too(point: InterceptionPoint, asynchronous: bool):
    deny(point)
    with pytest.raises(TooDear) as error:
        asyncio.run(CrewInFlow().akickoff()) if asynchronous else CrewInFlow().kickoff()
    assert denied(error) == DENIED


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(
    "point", [point for point in POINT if "step" not in point and point is not POINT.PRE_TOOL_CALL]
)
def test_a_deny_ends_the_kickoff_of_an_agent(point: InterceptionPoint, asynchronous: bool):
    agent = crew_of(ScriptedLLM([act("tide_table", harbour="Brest"), fin("done")]), TideTable()).agents[0]
    assert isinstance(agent, Agent)
    deny(point)
    with pytest.raises(TooDear) as error:
        asyncio.run(agent.akickoff("When?")) if asynchronous else agent.kickoff("When?")
    assert denied(error) == DENIED


@pytest.mark.parametrize("point", [POINT.PRE_STEP, POINT.PRE_MODEL_CALL, POINT.POST_TOOL_CALL, POINT.POST_STEP])
def test_a_deny_ends_the_invocation_of_a_compiled_crew(point: InterceptionPoint):
    llm = ScriptedLLM([act("tide_table", harbour="Brest"), fin("done")])
    graph = crew_of(llm, TideTable()).compile()
    deny(point)
    with pytest.raises(TooDear) as error:
        graph.invoke({})
    assert denied(error) == DENIED


def test_a_deny_in_a_memory_or_a_planner_is_not_worked_around(mode: Mode):
    crew = crew_of(ScriptedLLM([fin("six")]))
    crew.planning, crew.planning_llm = True, ScriptedLLM([fin("plan")])
    asked = deny(POINT.PRE_MODEL_CALL)
    with pytest.raises(TooDear):
        mode.kickoff(crew)
    assert len(asked) == 1


def events_of(run: Any) -> list[BaseEvent]:
    seen: list[BaseEvent] = []

    def note(_: Any, event: BaseEvent) -> None:
        seen.append(event)

    with crewai_event_bus.scoped_handlers():
        crewai_event_bus.on(BaseEvent)(note)
        with pytest.raises(TooDear):
            run()
    return seen


def test_a_denied_result_of_a_tool_is_reported_as_an_error_without_the_result(mode: Mode):
    deny(POINT.POST_TOOL_CALL)
    crew = crew_of(ScriptedLLM([act("tide_table", harbour="Brest"), fin("done")]), TideTable())
    events = events_of(lambda: mode.kickoff(crew))
    kinds = [type(event) for event in events]
    assert ToolUsageErrorEvent in kinds and ToolUsageFinishedEvent not in kinds
    assert (TaskFailedEvent in kinds, CrewKickoffFailedEvent in kinds) == (True, True)
    assert "06:12" not in " ".join(event.model_dump_json() for event in events)


def test_a_denied_reply_is_reported_as_an_error_without_the_reply(mode: Mode):
    deny(POINT.POST_MODEL_CALL)
    events = events_of(lambda: mode.kickoff(crew_of(ScriptedLLM([fin("06:12")]))))
    kinds = [type(event) for event in events]
    assert LLMCallFailedEvent in kinds and LLMCallCompletedEvent not in kinds
    assert "06:12" not in " ".join(event.model_dump_json() for event in events)
