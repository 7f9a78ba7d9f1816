"""Planning crews: the plan is made first, added to the prompts, and stored."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict

import processes
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from modes import Mode
from servers.langsmith_api import traced

from crewgraph import ConditionalTask, Crew, Process, ScriptedLLM, Task, TaskOutput, TaskStarted
from crewgraph.definitions.crew.plan import CrewPlan
from crewgraph.errors import NoModelError, OutputInvalid, StorageError
from crewgraph.events import BaseEvent, CrewKickoffStartedEvent, TaskCompletedEvent, TaskStartedEvent
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


def test_a_task_may_have_a_file_whose_name_needs_an_input(mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    team, planner, _ = planned("dive", "rise", plan=[plan_of("PLAN-1", "PLAN-2")])
    team.tasks[1].description, team.tasks[1].output_file = "rise from {place}", "{place}.md"
    mode.kickoff(team, {"place": "wreck"})
    assert "rise from wreck" in str(planner.requests[0])
    assert (tmp_path / "wreck.md").read_text("utf-8") == "rise done"


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


def test_tasks_show_what_they_were_asked_and_the_next_run_begins_with_the_template(mode: Mode):
    team, planner, worker = planned("dive", plan=[plan_of("PLAN-1"), plan_of("PLAN-2")], answers=["a", "b"])
    mode.kickoff(team)
    assert team.tasks[0].description.startswith("do dive\n") and team.tasks[0].description.endswith("PLAN-1")
    output = mode.kickoff(team)
    assert "PLAN-1" not in asked(worker)[1] and "PLAN-1" not in asked(planner)[1]
    assert output.tasks_output[0].description == team.tasks[0].description
    assert team.tasks[0].template("description") == "do dive"


def test_steps_may_come_as_a_list(mode: Mode):
    team, _, worker = planned("dive", plan=[plan_of(["sink", "look"])])
    mode.kickoff(team)
    assert "1. sink\n2. look" in asked(worker)[0]


def test_a_plan_goes_to_the_task_of_its_number(mode: Mode):
    team, _, worker = planned("dive", "rise", plan=[plan_of("PLAN-2", "PLAN-1", numbers=[2, 1])])
    mode.kickoff(team)
    assert "PLAN-1" in asked(worker)[0] and "PLAN-2" in asked(worker)[1]


def test_where_a_number_is_no_tasks_the_order_counts(mode: Mode):
    team, _, worker = planned("dive", "rise", plan=[plan_of("PLAN-1", "PLAN-2", numbers=[0, 1])])
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


def test_the_planner_is_heard_before_the_tasks(mode: Mode):
    team, _, _ = planned("dive", plan=[plan_of("PLAN-1")])
    with record_events() as events:
        mode.kickoff(team)
    assert isinstance(events[0], CrewKickoffStartedEvent)
    assert names(events, TaskStartedEvent) == ["planning", "dive"]
    assert names(events, TaskCompletedEvent) == ["planning", "dive"]


def test_callbacks_are_told_about_tasks_alone(mode: Mode):
    reported: list[str] = []

    def ended(output: TaskOutput) -> None:
        reported.append(output.name or "")

    def stepped(step: Any) -> None:
        reported.append("step")

    team, _, _ = planned("dive", plan=[plan_of("PLAN-1")], task_callback=ended, step_callback=stepped)
    mode.kickoff(team)
    assert reported == ["step", "dive"]


def test_the_stream_reports_the_planner(mode: Mode):
    team, _, _ = planned("dive", plan=[plan_of("PLAN-1")])
    has_started = [(item.task, item.index) for item in mode.stream_items(team) if isinstance(item, TaskStarted)]
    assert has_started == [("planning", -1), ("dive", 0)]


def test_a_trace_shows_the_planner_as_the_first_node():
    with traced() as langsmith:
        planned("dive", plan=[plan_of("PLAN-1")])[0].kickoff()
        assert (
            langsmith.tree()
            == """\
Crew: crew [chain]
  planning [chain]
    Agent: Planner [chain]
      scripted [llm]
  dive [chain]
    Agent: worker [chain]
      scripted [llm]"""
        )


def test_the_console_shows_the_planner(capsys: pytest.CaptureFixture[str]):
    team, _, _ = planned("dive", plan=[plan_of("PLAN-1")], verbose=True)
    team.kickoff()
    assert "[planning] task started" in capsys.readouterr().out


def test_the_graph_has_a_node_for_it_and_its_schemas_stay_as_they_were():
    team, _, _ = planned("dive", plan=[plan_of("PLAN-1")])
    graph = team.compile()
    edges = {(edge.source, edge.target) for edge in graph.get_graph().edges}
    assert edges == {("__start__", "planning"), ("planning", "dive"), ("dive", "__end__")}
    assert list(graph.get_input_jsonschema()["properties"]) == ["inputs"]
    assert list(graph.get_output_jsonschema()["properties"]) == ["dive", "output"]


def test_a_task_of_that_name_gets_another_one(mode: Mode):
    team, _, worker = planned("planning", plan=[plan_of("PLAN-1")])
    assert mode.kickoff(team).raw == "planning done"
    assert "PLAN-1" in asked(worker)[0]


def test_parallel_and_conditional_tasks_get_their_plans(mode: Mode):
    worker = ScriptedLLM(lambda messages: f"<{messages[-1]['content'].split()[3]}>")
    by = agent(worker)
    tasks = [
        task("a", by, async_execution=True),
        task("b", by, async_execution=True),
        ConditionalTask(lambda _: True, name="c", description="do c", expected_output="x", agent=by),
        ConditionalTask(lambda _: False, name="d", description="do d", expected_output="x", agent=by),
    ]
    team = crew(*tasks, planning=True, planning_llm=ScriptedLLM([plan_of("P-1", "P-2", "P-3", "P-4")]))
    output = mode.kickoff(team)
    reported = sorted(asked(worker))
    assert [f"P-{n}" in text for n, text in enumerate(reported, 1)] == [True] * 3
    assert "P-4" in output.tasks_output[3].description and output.tasks_output[3].raw == ""


def test_a_manager_gets_the_plan_of_each_task(mode: Mode):
    planner, manager = ScriptedLLM([plan_of("PLAN-1", "PLAN-2")]), ScriptedLLM(["a", "b"])
    worker = agent(ScriptedLLM([]), role="Digger")
    tasks = [Task(name=name, description=f"do {name}", expected_output="x") for name in ("one", "two")]
    tasks[0].agent = worker
    team = Crew(
        agents=[worker],
        tasks=tasks,
        process=Process.hierarchical,
        manager_llm=manager,
        planning=True,
        planning_llm=planner,
    )
    assert mode.kickoff(team).raw == "b"
    assert ["PLAN-1" in text for text in asked(manager)] == [True, False]
    assert "Agent: Digger" in asked(planner)[0] and "Agent: Crew Manager" in asked(planner)[0]


def test_each_run_of_several_has_a_plan_of_its_own(mode: Mode):
    planner = ScriptedLLM(
        lambda messages: plan_of("to " + messages[-1]["content"].partition("Description: do ")[2][:3])
    )
    worker = ScriptedLLM(lambda messages: messages[-1]["content"].partition("to ")[2][:3])
    team = crew(task("x", agent(worker), description="do {what}"), planning=True, planning_llm=planner)
    given = [{"what": "red"}, {"what": "tan"}]
    outputs = mode.run(team.kickoff_for_each, team.akickoff_for_each, given)
    assert sorted(asked(worker)[n].partition("do ")[2][:3] for n in (0, 1)) == ["red", "tan"]
    assert [str(output.plan.pydantic.list_of_plans_per_task[0].plan) for output in outputs] == ["to red", "to tan"]


def test_a_graph_around_the_crew_keeps_the_plan(mode: Mode):
    class Outer(TypedDict, total=False):
        inputs: dict[str, Any]
        planning: str
        dive: dict[str, Any]

    team, planner, worker = planned("dive", plan=[plan_of("PLAN-1")], answers=[ConnectionError("down"), "done"])
    graph = StateGraph(Outer)
    graph.add_node("crew", mode.compile(team))
    graph.add_edge(START, "crew")
    graph.add_edge("crew", END)
    app = graph.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    with pytest.raises(ConnectionError):
        mode.invoke(app, {"inputs": {}, "planning": "its own"}, config)
    found = mode.invoke(app, None, config)
    assert (found["dive"]["raw"], found["planning"], len(planner.requests)) == ("done", "its own", 1)
    assert "PLAN-1" in asked(worker)[1]


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


def test_a_state_that_was_edited_into_nonsense_is_reported(mode: Mode):
    team, _, _ = planned("dive", plan=[plan_of("PLAN-1")])
    graph = mode.compile(team, checkpointer=InMemorySaver(), interrupt_before=["dive"])
    config = {"configurable": {"thread_id": "t"}}
    mode.invoke(graph, {"inputs": {}}, config)
    graph.update_state(config, {"planning": {"pydantic": 7}}, as_node="planning")
    with pytest.raises(StorageError, match="`planning` in the state is not a crew's plan"):
        mode.invoke(graph, None, config)


def test_an_edited_plan_is_what_the_task_gets(mode: Mode):
    team, _, worker = planned("dive", plan=[plan_of("PLAN-1")])
    graph = mode.compile(team, checkpointer=InMemorySaver(), interrupt_after=["planning"])
    config = {"configurable": {"thread_id": "t"}}
    mode.invoke(graph, {"inputs": {}}, config)
    plan = mode.state(graph, config).values["planning"]
    graph.update_state(config, {"planning": {**plan, "pydantic": json.loads(plan_of("MINE"))}}, as_node="planning")
    mode.invoke(graph, None, config)
    assert "MINE" in asked(worker)[0]


def test_planning_is_switched_on_and_off_on_the_same_crew(mode: Mode):
    team, planner, worker = planned("dive", plan=[plan_of("PLAN-1")], answers=["a", "b"])
    assert mode.kickoff(team).plan is not None
    team.planning = False
    assert mode.kickoff(team).plan is None
    assert (team.planning_tasks, len(planner.requests)) == ([], 1)
    assert "PLAN-1" not in asked(worker)[1]


def test_a_copy_plans_as_well(mode: Mode):
    team, planner, _ = planned("dive", plan=[plan_of("PLAN-1")])
    copied = team.copy()
    assert copied.planning and copied.planning_llm is planner and copied.planning_tasks == []
    assert mode.kickoff(copied).plan is not None
    assert team.planning_tasks == []


def test_a_fork_keeps_the_plan(mode: Mode):
    team, planner, worker = planned("dive", "rise", plan=[plan_of("PLAN-1", "PLAN-2")], answers=["a", "b", "c"])
    mode.kickoff(team)
    output = mode.run(lambda: team.fork("rise", {"dive": "deep"}), lambda: team.afork("rise", {"dive": "deep"}))
    assert [one.raw for one in output.tasks_output] == ["deep", "c"]
    assert len(planner.requests) == 1 and output.plan is not None
    assert output.token_usage == output.tasks_output[1].usage
    assert "PLAN-2" in asked(worker)[2] and "deep" in asked(worker)[2]
    assert [step.tasks for step in team.history(output.thread_id)] == [("dive",), ("rise",)]


def test_a_replay_from_the_first_task_plans_anew(mode: Mode):
    team, planner, _ = planned("dive", plan=[plan_of("A"), plan_of("B")], answers=["a", "b"])
    mode.kickoff(team)
    output = mode.run(lambda: team.replay("dive"), lambda: team.areplay("dive"))
    assert output.raw == "b" and len(planner.requests) == 2
