"""Hooks at the boundaries of runs and steps."""

import asyncio
from typing import Any

import pytest
from modes import Mode

from crewgraph import Agent, BaseAgent, Crew, ScriptedLLM, Task, TaskOutput
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.people import HookDispatchedEvent
from crewgraph.flow import Flow, listen, start
from crewgraph.hooks import HookAborted, InterceptionPoint, before_llm_call, get_hooks, on, register_hook
from crewgraph.project import CrewBase, agent, crew, task
from hooks.sample_crew import crew_of, fin

POINT = InterceptionPoint


def broken(_: object) -> None:
    raise ZeroDivisionError


def two_tasks(*answers: str) -> Crew:
    made = crew_of(ScriptedLLM([fin(answer) for answer in answers]))
    then = Task(name="then", description="And {then}?", expected_output="A time", agent=made.agents[0])
    made.tasks.append(then)
    return made


def recorded(*points: InterceptionPoint) -> list[tuple[Any, ...]]:
    seen: list[tuple[Any, ...]] = []
    for point in points:
        register_hook(point, lambda ctx, point=point: seen.append((point.value, ctx)))
    return seen


def test_a_crew_passes_its_points_in_order(mode: Mode):
    seen = recorded(*(point for point in POINT if "call" not in point))
    mode.kickoff(two_tasks("one", "two"), {"then": "later"})
    steps = ["pre_step", "post_step"]
    assert [name for name, _ in seen] == ["execution_start", "input", *steps, *steps, "output", "execution_end"]
    assert [ctx.step_name for _, ctx in seen[2:6]] == ["ask", "ask", "then", "then"]
    assert (seen[4][1].payload, seen[-1][1].status, seen[-1][1].output.raw) == ("one", "completed", "two")


def test_inputs_may_be_changed_in_place_and_replaced(mode: Mode):
    register_hook(POINT.EXECUTION_START, lambda ctx: ctx.inputs.update(then="changed"))
    register_hook(POINT.INPUT, lambda ctx: {**ctx.inputs, "more": 1})
    made = two_tasks("one", "two")
    mode.kickoff(made, {"then": "later"})
    assert made.inputs == {"then": "changed", "more": 1}


def test_a_task_works_with_the_context_that_a_hook_gives(mode: Mode):
    @on(POINT.PRE_STEP)
    def context(ctx: Any) -> str | None:
        return "CONTEXT-1" if ctx.step_name == "then" else None

    made = two_tasks("one", "two")
    mode.kickoff(made, {"then": "later"})
    llm = made.agents[0].llm
    assert ["CONTEXT-1" in request.text for request in llm.requests] == [False, True]


def test_an_output_changed_behind_a_task_is_what_the_next_one_is_told(mode: Mode):
    @on(POINT.POST_STEP)
    def loud(ctx: Any) -> None:
        ctx.output.raw = ctx.output.raw.upper()

    made = two_tasks("one", "two")
    result = mode.kickoff(made, {"then": "later"})
    assert [output.raw for output in result.tasks_output] == ["ONE", "TWO"]
    assert "ONE" in made.agents[0].llm.requests[1].text


def test_the_output_of_a_run_may_be_replaced(mode: Mode):
    register_hook(POINT.OUTPUT, lambda ctx: f"{ctx.output.raw} and more")
    assert mode.kickoff(crew_of(ScriptedLLM([fin("six")]))) == "six and more"


@pytest.mark.parametrize("point", [POINT.INPUT, POINT.PRE_STEP, POINT.POST_STEP, POINT.OUTPUT])
def test_a_hook_may_end_the_run_and_the_end_is_reported(mode: Mode, point: InterceptionPoint):
    def no(_: Any) -> None:
        raise HookAborted("no", "the harbour master")

    register_hook(point, no)
    seen = recorded(POINT.EXECUTION_END)
    with pytest.raises(HookAborted) as raised:
        mode.kickoff(crew_of(ScriptedLLM([fin("six")])))
    assert (raised.value.reason, raised.value.source) == ("no", "the harbour master")
    ((_, end),) = seen
    assert (end.status, end.error) == ("failed", raised.value)


def test_what_hooks_did_with_a_task_stays_after_a_crash(mode: Mode):
    calls: list[str] = []

    @on(POINT.POST_STEP)
    def loud(ctx: Any) -> TaskOutput:
        calls.append(ctx.step_name)
        return ctx.output.model_copy(update={"raw": ctx.output.raw.upper()})

    made = crew_of(ScriptedLLM([fin("six")]))
    made.tasks[0].callback = broken
    with pytest.raises(ZeroDivisionError):
        mode.kickoff(made, thread_id="t")
    again = crew_of(ScriptedLLM([]))
    assert mode.resume(again, "t").raw == "SIX"
    assert calls == ["ask"]


class Tides(Flow[Any]):
    @start()
    def first(self) -> str:
        return "low"

    @listen(first)
    async def second(self, tide: str) -> str:
        return f"{tide} tide"


@pytest.mark.parametrize("later", [False, True])
def test_a_flow_passes_its_points_too(later: bool):
    register_hook(POINT.POST_STEP, lambda ctx: "high" if ctx.step_name == "first" else None)
    register_hook(POINT.OUTPUT, lambda ctx: ctx.output.upper())
    seen = recorded(POINT.EXECUTION_START, POINT.PRE_STEP, POINT.EXECUTION_END)
    flow = Tides()
    assert (asyncio.run(flow.akickoff()) if later else flow.kickoff()) == "HIGH TIDE"
    assert [name for name, _ in seen] == ["execution_start", "pre_step", "pre_step", "execution_end"]
    assert (seen[2][1].step_name, seen[2][1].payload) == ("second", {"_0": "high"})


def test_a_method_may_be_given_other_arguments():
    def other(ctx: Any) -> None:
        if ctx.step_name == "second":
            ctx.payload["_0"] = "spring"

    register_hook(POINT.PRE_STEP, other)
    assert Tides().kickoff() == "spring tide"


def test_each_dispatch_is_reported():
    reported: list[HookDispatchedEvent] = []
    register_hook(POINT.INPUT, lambda _: None)
    register_hook(POINT.OUTPUT, lambda ctx: ctx.output)
    with crewai_event_bus.scoped_handlers():

        @crewai_event_bus.on(HookDispatchedEvent)
        def note(_: object, event: HookDispatchedEvent) -> None:
            reported.append(event)

        crew_of(ScriptedLLM([fin("six")])).kickoff()
    assert [(e.interception_point, e.outcome, e.hook_count) for e in reported] == [
        ("input", "proceeded", 1),
        ("output", "modified", 1),
    ]


called: list[str] = []


@CrewBase
class Pilots:
    agents_config: dict[str, Any] = {}
    tasks_config: dict[str, Any] = {}
    agents: list[BaseAgent]
    tasks: list[Task]
    ship = "Ann"

    @before_llm_call
    def look(self, _: Any) -> None:
        called.append(self.ship)

    @before_llm_call(agents=["Cook"])
    def cook(self, _: Any) -> None:
        called.append("cook")

    @on(POINT.INPUT)
    def inputs(self, ctx: Any) -> None:
        called.append(f"inputs {ctx.inputs}")

    @agent
    def pilot(self) -> Agent:
        return Agent(role="Pilot", goal="Bring in", backstory="At sea.", llm=ScriptedLLM(lambda _: fin("six")))

    @task
    def ask(self) -> Task:
        return Task(description="When?", expected_output="A time", agent=self.pilot())

    @crew
    def crew(self) -> Crew:
        return Crew(agents=self.agents, tasks=self.tasks)


def test_the_hooks_of_a_project_hold_for_its_crew_only(mode: Mode):
    called.clear()
    made = Pilots().crew()
    mode.kickoff(made, {"a": 1})
    assert called == ["inputs {'a': 1}", "Ann"]
    mode.kickoff(crew_of(ScriptedLLM([fin("six")])))
    assert called == ["inputs {'a': 1}", "Ann"]
    assert get_hooks(POINT.INPUT) == []


def test_a_copy_of_a_projects_crew_has_its_hooks():
    called.clear()
    Pilots().crew().copy().kickoff()
    assert called == ["inputs {}", "Ann"]
