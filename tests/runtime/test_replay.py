"""Replays: running a task of a run again, and all tasks after it."""

import json
import os
import sys
import textwrap
from pathlib import Path
from typing import Any
from uuid import uuid4

import processes
import pytest
from combinations import of
from modes import Mode
from waiting import wait_until

from crewgraph import Crew, CrewOutput, Process, ScriptedLLM, Task, ToolUse
from crewgraph.errors import RunError, UnknownRun, UnknownTask

from .parts import agent, crew, task

ROOT = Path(__file__).parents[2]


def counting() -> ScriptedLLM:
    """Answers with the number of the request."""
    llm = ScriptedLLM(lambda messages: f"answer {len(llm.requests)}")
    return llm


def three(llm: ScriptedLLM, **more: Any) -> Crew:
    worker = agent(llm, role="{topic} expert")
    return crew(
        *(task(name, worker, description=f"do {name} on {{topic}}") for name in ("one", "two", "three")), **more
    )


def replayed(mode: Mode, team: Crew, *args: Any, **options: Any) -> CrewOutput:
    return mode.run(lambda: team.replay(*args, **options), lambda: team.areplay(*args, **options))


def raws(result: CrewOutput) -> list[str]:
    return [output.raw for output in result.tasks_output]


def test_a_task_of_the_latest_run_is_done_again_with_all_behind_it(mode: Mode):
    team = three(counting())
    mode.kickoff(team, {"topic": "rain"})
    result = replayed(mode, team, task_id=str(team.tasks[1].id))
    assert isinstance(result, CrewOutput)
    assert (raws(result), result.raw) == (["answer 1", "answer 4", "answer 5"], "answer 5")
    assert [output.description for output in result.tasks_output] == [
        "do one on rain",
        "do two on rain",
        "do three on rain",
    ]
    assert [output.agent for output in result.tasks_output] == ["rain expert"] * 3
    assert [output.name for output in result.tasks_output] == ["one", "two", "three"]


def test_a_task_goes_by_each_of_its_names(mode: Mode):
    llm = counting()
    worker = agent(llm)
    team = crew(task("look up", worker), task("write", worker))
    mode.kickoff(team, thread_id="t")
    first = team.tasks[1]
    for name in (str(first.id), first.id, first.id.hex, first.key, "write", 1, "1", first, f" {first.id} "):
        assert raws(replayed(mode, team, name, thread_id="t"))[0] == "answer 1"
    for name in ("look up", "look_up", team.tasks[0].key, 0, "0"):
        assert raws(replayed(mode, team, name, thread_id="t"))[0] != "answer 1"


def test_tasks_with_the_same_name_are_distinguished_by_position_or_id(mode: Mode):
    worker = agent(counting())
    team = crew(task("x y", worker), task("x y", worker))
    mode.kickoff(team, thread_id="t")
    for name in ("x y", team.tasks[0].key):
        with pytest.raises(
            UnknownTask, match=r"matches several of the crew's tasks.*\n  0. x_y  id .*\n  1. x_y_2  id"
        ):
            replayed(mode, team, name, thread_id="t")
    assert raws(replayed(mode, team, "x_y_2", thread_id="t")) == ["answer 1", "answer 3"]
    assert raws(replayed(mode, team, team.tasks[1].id, thread_id="t")) == ["answer 1", "answer 4"]


def test_any_run_may_be_replayed_those_of_kickoff_for_each_too(mode: Mode):
    team = three(counting())
    inputs = [{"topic": topic} for topic in ("rain", "snow", "hail")]
    each = mode.run(lambda: team.kickoff_for_each(inputs), lambda: team.akickoff_for_each(inputs))
    for earlier, topic in zip(each, ("rain", "snow", "hail"), strict=True):
        result = replayed(mode, team, "three", thread_id=earlier.thread_id)
        assert raws(result)[:2] == raws(earlier)[:2]
        assert result.tasks_output[2].description == f"do three on {topic}"


def test_functions_around_a_kickoff_are_not_called_again(mode: Mode):
    calls: list[str] = []

    def before(inputs: dict[str, Any]) -> dict[str, Any]:
        calls.append("before")
        return {"topic": inputs["topic"] + "!"}

    def after(_: CrewOutput) -> None:
        calls.append("after")

    team = three(counting(), before_kickoff_callbacks=[before], after_kickoff_callbacks=[after])
    mode.kickoff(team, {"topic": "rain"})
    result = replayed(mode, team, "three")
    assert result.tasks_output[2].description == "do three on rain!"
    assert calls == ["before", "after"]


def test_a_run_under_a_manager_is_replayed(mode: Mode):
    def handed(work: str) -> ToolUse:
        return ToolUse("Delegate work to coworker", {"task": work, "context": "c", "coworker": "Digger"})

    digger = ScriptedLLM(["a hole", "a pit", "a ditch"])
    team = Crew(
        agents=[agent(digger, "Digger")],
        tasks=[Task(name=name, description=f"do {name}", expected_output="e") for name in ("one", "two")],
        process=Process.hierarchical,
        manager_llm=ScriptedLLM([handed("dig"), "dug", handed("dig on"), "dug on", handed("dig anew"), "dug anew"]),
    )
    mode.kickoff(team)
    result = replayed(mode, team, team.tasks[1].id)
    assert (raws(result), len(digger.requests)) == (["dug", "dug anew"], 3)
    assert result.token_usage.successful_requests == 3 and list(result.usage_by_agent) == ["Crew Manager", "Digger"]


def test_unknown_task_is_refused(mode: Mode):
    llm = counting()
    team = three(llm, name="ours")
    with pytest.raises(UnknownRun, match=r"no run of crew `ours` is stored"):
        replayed(mode, team, "two")
    mode.kickoff(team, {"topic": "rain"})
    with pytest.raises(ValueError, match=r"task `nope` matches none of the crew's tasks. Pass the name, id") as caught:
        replayed(mode, team, "nope")
    for crew_task in team.tasks:
        assert f"{crew_task.name}  id {crew_task.id}  key {crew_task.key}" in str(caught.value)
    for bad in ("", str(uuid4()), "7"):
        with pytest.raises(UnknownTask, match=r"0. one"):
            replayed(mode, team, bad)
    with pytest.raises(RunError, match=r"not stored"):
        replayed(mode, team, "two", checkpointer=False)
    assert len(llm.requests) == 3


PROGRAM = """
    import json, os, signal, sys, time
    from crewgraph import Agent, Crew, ScriptedLLM, Task

    requests = open("requests.txt", "a")

    def answer(messages):
        name = messages[-1]["content"].partition("do ")[2].split()[0]
        if os.environ.get("KILL") == name:
            os.kill(os.getpid(), signal.SIGKILL)
        while os.environ.get("WAIT") == name and not os.path.exists("go"):
            time.sleep(0.01)
        print(name, file=requests, flush=True)
        return f"{name} by {os.environ['WHO']}"

    clerk = Agent(role="clerk", goal="g", backstory="b", llm=ScriptedLLM(answer))
    tasks = [Task(name=n, description=f"do {n} on {{topic}}", expected_output="e", agent=clerk) for n in ("one", "two", "three")]
    crew = Crew(agents=[clerk], tasks=tasks)
    method_name, *given = sys.argv[1:]
    result = getattr(crew, method_name)(**json.loads(given[0]))
    print(json.dumps({
        "raws": [one.raw for one in result.tasks_output],
        "ids": [str(task.id) for task in tasks],
        "keys": [clerk.key, crew.key, *(task.key for task in tasks)],
        "replayed": [one["was_replayed"] for one in crew.execution_logs],
    }))
"""


@pytest.fixture
def program(tmp_path: Path, storage: Path) -> Any:
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(PROGRAM), "utf-8")

    def run(method_name: str, who: str, killed: bool = False, **given: Any) -> Any:
        own, kill = given.pop("own", {}), given.pop("kill", "")
        done = processes.run(
            [sys.executable, str(path), method_name, json.dumps(given)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "WHO": who, "KILL": kill, **own},
            capture_output=True,
            text=True,
            check=False,
            timeout=250,
        )
        assert done.returncode == (-9 if killed else 0), done.stderr
        return None if killed else json.loads(done.stdout)

    return run


def test_another_process_finds_a_task_by_the_id_that_it_had(program: Any):
    first = program("kickoff", "first", inputs={"topic": "rain"}, thread_id="t")
    second = program("replay", "second", task_id=first["ids"][1])
    assert second["raws"] == ["one by first", "two by second", "three by second"]
    assert second["ids"] != first["ids"] and second["replayed"] == [True, False, False]
    # The ids are those of the process of the run that is replayed, also of the tasks that it took over.
    third = program("replay", "third", task_id=second["ids"][2])
    assert third["raws"] == ["one by first", "two by second", "three by third"]
    assert program("replay", "fourth", task_id=third["ids"][0])["raws"][0] == "one by fourth"
    assert program("replay", "fifth", task_id=first["ids"][2], thread_id="t")["raws"][1] == "two by first"


@pytest.mark.parametrize("point", ["three", "two"][: of(1, 2)])
def test_killed_replay_can_be_resumed(program: Any, tmp_path: Path, point: str):
    program("kickoff", "first", inputs={"topic": "rain"}, thread_id="t")
    program("replay", "second", killed=True, kill=point, task_id="two", new_thread_id="again")
    done = program("resume", "third", thread_id="again", own={"PYTHONHASHSEED": "random"})
    by = {"two": ["third", "third"], "three": ["second", "third"]}[point]
    assert done["raws"] == ["one by first", f"two by {by[0]}", f"three by {by[1]}"]
    assert (tmp_path / "requests.txt").read_text().split() == ["one", "two", "three", "two", "three"]
    assert program("replay", "fourth", task_id="three", thread_id="t")["raws"][1] == "two by first"


def test_a_run_that_is_continuing_in_another_process_is_replayed_as_far_as_it_is(program: Any, tmp_path: Path):
    path, env = tmp_path / "program.py", {**os.environ, "PYTHONPATH": str(ROOT), "WHO": "other", "WAIT": "two"}
    inputs = json.dumps({"inputs": {"topic": "rain"}, "thread_id": "t"})
    with processes.Popen([sys.executable, path, "kickoff", inputs], cwd=tmp_path, env=env) as other:
        try:
            team = three(counting())
            team.agents[0].role = "clerk"
            wait_until(lambda: any(run.last == "one" for run in team.runs()))
            with pytest.raises(
                RunError, match=r"has no output of `two`.* Tasks done: `one`. The run is in progress, has failed"
            ):
                team.replay("three")
            assert raws(team.replay("two", thread_id="t")) == ["one by other", "answer 1", "answer 2"]
        finally:
            (tmp_path / "go").touch()
        assert other.wait(250) == 0
    assert [step.completed for step in team.history("t")] == [None, "one", "two", "three"]
    assert team.history("t")[-1].outputs["two"].raw == "two by other"
