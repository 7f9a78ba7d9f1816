"""Planning crews: the plan is made first, added to the prompts, and stored."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import processes
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from modes import Mode

from crewgraph import Crew, ScriptedLLM
from crewgraph.definitions.crew.plan import CrewPlan
from crewgraph.errors import NoModelError, OutputInvalid
from crewgraph.events import BaseEvent, TaskCompletedEvent, TaskStartedEvent
from crewgraph.testing import record_events
from runtime.parts import agent, asked, crew, task

ROOT = Path(__file__).parents[2]


def plan_of(*steps: Any, numbers: Sequence[int] | None = None) -> str:
    numbered = zip(numbers or range(1, len(steps) + 1), steps, strict=True)
    plans = [{"task_number": number, "task": "t", "plan": plan} for number, plan in numbered]
    return json.dumps({"list_of_plans_per_task": plans})


def planned(
    *names: str, plan: Any, answers: Sequence[Any] | None = None, **more: Any
) -> tuple[Crew, ScriptedLLM, ScriptedLLM]:
    planner, worker = ScriptedLLM(plan), ScriptedLLM(answers or [f"{name} done" for name in names])
    by = agent(worker)
    return crew(*(task(name, by) for name in names), planning=True, planning_llm=planner, **more), planner, worker


def done(given: Any) -> str:
    return "done"


def names(events: Sequence[BaseEvent], kind: type[TaskStartedEvent | TaskCompletedEvent]) -> list[str]:
    return [event.task.name for event in events if isinstance(event, kind)]


def test_the_plan_reaches_the_prompt_of_its_task(mode: Mode):
    team, planner, worker = planned("dive", "rise", plan=[plan_of("PLAN-1", "PLAN-2")])
    output = mode.kickoff(team)
    assert output.raw == "rise done"
    assert len(planner.requests) == 1
    first, second = asked(worker)
    assert "do dive" in first and "PLAN-1" in first and "PLAN-2" not in first
    assert "do rise" in second and "PLAN-2" in second and "PLAN-1" not in second


def test_the_planner_is_told_about_tasks_agents_and_tools(mode: Mode):
    planner, worker = ScriptedLLM([plan_of("p")]), ScriptedLLM(["done"])

    def sonar(depth: int) -> str:
        """Look around."""
        return str(depth)

    diver = agent(worker, role="diver of {sea}", goal="breathe", tools=[sonar])
    dive = task("dive", diver, description="dive in {sea}", expected_output="pearls")
    mode.kickoff(crew(dive, planning=True, planning_llm=planner), {"sea": "RED"})
    reported = asked(planner)[0]
    assert all(word in reported for word in ("dive in RED", "pearls", "diver of RED", "breathe", "sonar"))


def test_each_task_keeps_one_output_and_the_plan_has_its_own_place(mode: Mode):
    team, _, _ = planned("dive", "rise", plan=[plan_of("PLAN-1", "PLAN-2")])
    output = mode.kickoff(team)
    assert [one.name for one in output.tasks_output] == ["dive", "rise"]
    assert output.plan is not None
    assert isinstance(output.plan.pydantic, CrewPlan)
    assert output.plan.pydantic.list_of_plans_per_task[1].plan == "PLAN-2"
    assert team.planning_tasks[0].output == output.plan
    assert output.token_usage.successful_requests == 3
    assert output.usage_by_task["planning"].successful_requests == 1


def test_a_plan_goes_to_the_task_of_its_number(mode: Mode):
    team, _, worker = planned("dive", "rise", plan=[plan_of("PLAN-2", "PLAN-1", numbers=[2, 1])])
    mode.kickoff(team)
    assert "PLAN-1" in asked(worker)[0] and "PLAN-2" in asked(worker)[1]


def test_a_task_that_the_plan_forgets_is_reported_and_done_without(mode: Mode, caplog: pytest.LogCaptureFixture):
    team, _, worker = planned("dive", "rise", plan=[plan_of("PLAN-1")])
    mode.kickoff(team)
    assert "says nothing about `rise`" in caplog.text
    assert "Follow this plan" not in asked(worker)[1]


def test_a_plan_that_cannot_be_read_is_asked_for_again(mode: Mode):
    team, planner, worker = planned("dive", plan=["first I think", '{"list_of_plans_per_task": 7}', plan_of("PLAN-1")])
    mode.kickoff(team)
    assert len(planner.requests) == 3
    assert "PLAN-1" in asked(worker)[0]


def test_without_any_plan_that_can_be_read_no_task_is_begun(mode: Mode):
    team, planner, worker = planned("dive", plan=["no", "no", "no plan"])
    with (
        record_events() as events,
        pytest.raises(OutputInvalid, match=r"no plan that can be parsed(.|\n)*'no plan'(.|\n)*planning_llm"),
    ):
        mode.kickoff(team)
    assert (len(planner.requests), worker.requests) == (3, [])
    assert [event.type for event in events if event.type.endswith("failed")] == ["task_failed", "crew_kickoff_failed"]


def test_a_run_that_failed_to_plan_continues_with_another_planner(mode: Mode):
    team, _, _ = planned("dive", plan=["no", "no", "no plan"], checkpointer=InMemorySaver())
    with pytest.raises(OutputInvalid):
        mode.kickoff(team, thread_id="t")
    team.planning_llm = ScriptedLLM([plan_of("PLAN-1")], model="better")
    assert mode.resume(team, "t").raw == "dive done"


@pytest.mark.parametrize("of_task", [True, False])
def test_without_a_model_of_its_own_the_planner_has_that_of_an_agent(mode: Mode, of_task: bool):
    model = ScriptedLLM([plan_of("PLAN-1"), "done"])
    worker = agent(model if of_task else None, agent_executor=None if of_task else done)
    boss = agent(model, role="boss")
    team = Crew(agents=[boss, worker] if not of_task else [worker], tasks=[task("dive", worker)], planning=True)
    assert mode.kickoff(team).raw == "done"
    assert "dive" in asked(model)[0]


def test_a_planner_without_a_key_is_reported_before_anything_is_paid_for(mode: Mode):
    worker = agent(None, agent_executor=done)
    with pytest.raises(NoModelError):
        mode.kickoff(crew(task("dive", worker), planning=True))


def test_what_was_planned_is_not_planned_again_by_a_resume(mode: Mode):
    team, planner, _ = planned(
        "dive", plan=[plan_of("PLAN-1")], answers=[ConnectionError("down"), "done"], checkpointer=InMemorySaver()
    )
    with pytest.raises(ConnectionError):
        mode.kickoff(team, thread_id="t")
    team.planning_tasks.clear()
    output = mode.resume(team, "t")
    assert (output.raw, len(planner.requests)) == ("done", 1)
    assert output.plan is not None and team.planning_tasks[0].output == output.plan
    assert output.token_usage.successful_requests == 2


_KILLED = """
import os, sys, json
from crewgraph import Agent, Crew, ScriptedLLM, Task
plans = {"list_of_plans_per_task": [{"task_number": 1, "task": "t", "plan": "PLAN-1"}]}
def planned(messages):
    print("planned", flush=True)
    return json.dumps(plans)
def worked(messages):
    if sys.argv[1] == "die":
        os.kill(os.getpid(), 9)
    return "PLAN-1" in messages[-1]["content"] and "with the plan" or "without"
by = Agent(role="r", goal="g", backstory="b", llm=ScriptedLLM(worked))
task = Task(name="dive", description="dive", expected_output="x", agent=by)
crew = Crew(agents=[by], tasks=[task], planning=True, planning_llm=ScriptedLLM(planned))
output = crew.kickoff(thread_id="t") if sys.argv[1] == "die" else crew.resume("t")
print(output.raw, output.plan.pydantic.list_of_plans_per_task[0].plan)
"""


def test_a_run_killed_behind_the_planning_does_not_plan_again(tmp_path: Path):
    (tmp_path / "team.py").write_text(_KILLED)

    def python(*args: str) -> "subprocess.CompletedProcess[str]":
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        return processes.run(
            [sys.executable, *args], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )

    killed = python("team.py", "die")
    assert (killed.returncode, killed.stdout) == (-9, "planned\n")
    assert python("team.py", "live").stdout == "with the plan PLAN-1\n"
