"""The commands on stored runs: runs, log-tasks-outputs, replay, diff."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Python

CREWGRAPH = ("-m", "crewgraph")

TEAM = """
import os
from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.flow import Flow, persist, start


def answer(messages):
    name = messages[-1]["content"].partition("do ")[2].split()[0]
    if os.environ.get("FAIL") == name:
        raise ConnectionError("down")
    return f"[{name}] by {os.environ.get('WHO', 'nobody')}"


clerk = Agent(role="clerk", goal="g", backstory="b", llm=ScriptedLLM(answer), max_retry_limit=0)


def crew():
    tasks = [
        Task(name=name, description=f"do {name} on {{topic}}", expected_output=f"{name}, done", agent=clerk)
        for name in ("one", "two", "three")
    ]
    return Crew(agents=[clerk], tasks=tasks, name="team")


@persist
class Week(Flow[dict]):
    @start()
    def monday(self):
        return crew().kickoff({"topic": "hail"}, thread_id=None).raw


if __name__ == "__main__":
    import sys

    if sys.argv[1] == "flow":
        Week().kickoff()
    else:
        crew().kickoff({"topic": sys.argv[2]}, thread_id=sys.argv[1])
"""

TARGET = ("--target", "team.py:crew")


@pytest.fixture
def team(python: Python, tmp_path: Path) -> Python:
    """A program with a crew and a flow, in the folder the commands are run in."""
    (tmp_path / "team.py").write_text(TEAM, "utf-8")
    return python


def read_json(python: Python, *arguments: str, **env: str) -> Any:
    done = python(*CREWGRAPH, *arguments, "--json", **env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_runs_lists_stored_runs_without_the_program(team: Python, tmp_path: Path):
    team("team.py", "first", "rain")
    assert team("team.py", "second", "snow", FAIL="two").returncode == 1
    team("team.py", "flow")
    (tmp_path / "team.py").unlink()
    stored = read_json(team, "runs")
    assert [(run["kind"], run["name"], run["status"], run["last"]) for run in stored] == [
        ("flow", "Week", "done", "monday"),
        ("crew", "team", "failed", "one"),
        ("crew", "team", "done", "three"),
    ]
    assert [run["thread_id"] for run in stored[1:]] == ["second", "first"]
    assert [run["thread_id"] for run in read_json(team, "runs", "--status", "open")] == ["second"]
    assert len(read_json(team, "runs", "--limit", "1")) == 1
    inside = [run for run in read_json(team, "runs", "--inside") if run["inside"]]
    assert [(run["kind"], run["inside"]) for run in inside] == [("crew", stored[0]["thread_id"])]
    lines = team(*CREWGRAPH, "runs").stdout.splitlines()
    assert lines[1].split() == ["thread", "kind", "name", "status", "last", "written"]
    assert re.search(r"second +crew +team +failed +one +\d{4}-\d\d-\d\d \d\d:\d\d UTC", "\n".join(lines))


def test_runs_reads_the_database_that_is_named(team: Python, storage: Path, tmp_path: Path):
    team("team.py", "first", "rain")
    (storage / "checkpoints.db").rename(tmp_path / "kept.db")
    assert [run["thread_id"] for run in read_json(team, "runs", "--database", "kept.db")] == ["first"]
    for wrong, status in ((("--database", "nowhere.db"), 1), (("--status", "lost"), 2), (("--limit", "0"), 2)):
        done = team(*CREWGRAPH, "runs", *wrong)
        assert (done.returncode, done.stdout) == (status, "") and "Traceback" not in done.stderr
    assert "database `nowhere.db` does not exist" in team(*CREWGRAPH, "runs", "--database", "nowhere.db").stderr
    assert "it is created when the first run is stored" in team(*CREWGRAPH, "runs").stderr
    assert not (storage / "checkpoints.db").exists()


def test_no_such_runs_is_no_error(team: Python):
    team("team.py", "first", "rain")
    done = team(*CREWGRAPH, "runs", "--status", "open")
    assert (done.returncode, done.stdout) == (0, "no open runs\n")
    assert read_json(team, "runs", "--status", "open") == []


def test_a_crew_without_a_name_is_shown_under_that_of_its_program(python: Python, tmp_path: Path):
    (tmp_path / "rates.py").write_text(
        "from crewgraph import Agent, Crew, ScriptedLLM, Task\n"
        "clerk = Agent(role='clerk', goal='g', backstory='b', llm=ScriptedLLM(['done']))\n"
        "task = Task(description='d', expected_output='e', agent=clerk)\n"
        "Crew(agents=[clerk], tasks=[task]).kickoff(thread_id='first')\n"
    )
    python("rates.py")
    assert read_json(python, "runs")[0]["name"] == read_json(python, "log-tasks-outputs")["crew"] == "rates"
    assert python(*CREWGRAPH, "log-tasks-outputs").stdout.startswith("run first of crew `rates`\n")


def test_the_outputs_of_the_latest_run_are_reported_and_an_id_is_replayed(team: Python):
    team("team.py", "first", "rain", WHO="a")
    outputs = read_json(team, "log-tasks-outputs")
    assert (outputs["thread_id"], outputs["crew"], outputs["inputs"]) == ("first", "team", {"topic": "rain"})
    assert [(task["name"], task["expected_output"], task["output"], task["agent"]) for task in outputs["tasks"]] == [
        ("one", "one, done", "[one] by a", "clerk"),
        ("two", "two, done", "[two] by a", "clerk"),
        ("three", "three, done", "[three] by a", "clerk"),
    ]
    text = team(*CREWGRAPH, "log-tasks-outputs").stdout
    for task in outputs["tasks"]:
        assert task["id"] in text and task["key"] in text and task["output"] in text
    done = team(*CREWGRAPH, "replay", "-t", outputs["tasks"][1]["id"], *TARGET, WHO="b")
    assert (done.returncode, done.stdout) == (0, "[three] by b\n"), done.stderr
    thread = done.stderr.split()[1]
    again = read_json(team, "log-tasks-outputs")
    assert again["thread_id"] == thread
    assert [task["output"] for task in again["tasks"]] == ["[one] by a", "[two] by b", "[three] by b"]


def test_a_replay_takes_names_keys_threads_and_inputs(team: Python):
    team("team.py", "first", "rain", WHO="a")
    team("team.py", "second", "snow", WHO="b")
    key = read_json(team, "log-tasks-outputs", "first")["tasks"][2]["key"]
    for option, name in (("-t", "three"), ("--task_id", key), ("--task-id", "2")):
        result = read_json(team, "replay", option, name, "first", "--inputs", '{"topic": "hail"}', *TARGET, WHO="c")
        assert [task["output"] for task in result["tasks"]] == ["[one] by a", "[two] by a", "[three] by c"]
        assert read_json(team, "log-tasks-outputs", result["thread_id"])["inputs"] == {"topic": "hail"}


def test_a_replay_that_fails_can_be_resumed(team: Python):
    team("team.py", "first", "rain", WHO="a")
    assert team(*CREWGRAPH, "replay", "-t", "two", *TARGET, FAIL="three", WHO="b").returncode == 1
    assert [run["status"] for run in read_json(team, "runs")] == ["failed", "done"]


def test_a_project_lists_its_own_runs_and_others_on_request(team: Python, tmp_path: Path):
    team("team.py", "other", "rain")
    (tmp_path / "pyproject.toml").write_text("", "utf-8")
    assert team(*CREWGRAPH, "runs").stdout == "no runs of this project; `crewgraph runs --all` lists those of others\n"
    assert "no runs of this project's crews" in team(*CREWGRAPH, "log-tasks-outputs").stderr
    team("team.py", "own", "rain")
    assert [run["thread_id"] for run in read_json(team, "runs")] == ["own"]
    assert [run["thread_id"] for run in read_json(team, "runs", "--all")] == ["own", "other"]
    assert read_json(team, "log-tasks-outputs")["thread_id"] == "own"


def test_a_bad_replay_is_refused(team: Python):
    done = team(*CREWGRAPH, "replay", "-t", "two", *TARGET)
    assert done.returncode == 1 and "no run of crew `team` is stored" in done.stderr
    team("team.py", "first", "rain")
    for arguments, status, why in (
        (("-t", "four", *TARGET), 1, "`four` matches none of the crew's tasks"),
        (("-t", "two", "x", *TARGET), 1, "no run of thread `x`"),
        (TARGET, 2, "task"),
        (("-t", "two", "--inputs", "{", *TARGET), 1, "not valid JSON"),
        (("-t", "two", "--inputs", "[]", *TARGET), 1, "expected `name=value` or a JSON object"),
    ):
        done = team(*CREWGRAPH, "replay", *arguments)
        assert (done.returncode, done.stdout) == (status, ""), arguments
        assert why in done.stderr and "Traceback" not in done.stderr
    assert len(read_json(team, "runs")) == 1


def test_the_outputs_of_no_run_and_of_a_flow_are_refused(team: Python):
    team("team.py", "first", "rain")
    done = team(*CREWGRAPH, "log-tasks-outputs", "x")
    assert done.returncode == 1 and "no run of thread `x`" in done.stderr
    team("team.py", "flow")
    flow = next(run for run in read_json(team, "runs") if run["kind"] == "flow")
    done = team(*CREWGRAPH, "log-tasks-outputs", flow["thread_id"])
    assert done.returncode == 1 and "holds a run of flow `Week`, not of a crew" in done.stderr
    # The latest run of a crew is the one inside that flow.
    assert read_json(team, "log-tasks-outputs")["inputs"] == {"topic": "hail"}


def test_two_runs_are_compared(team: Python):
    team("team.py", "first", "rain", WHO="a")
    team("team.py", "second", "snow", WHO="b")
    comparison = read_json(team, "diff", "first", "second")
    assert (comparison["a"], comparison["b"], comparison["same"], comparison["inputs"]) == (
        "first", "second", False, {"topic": ["rain", "snow"]},
    )  # fmt: skip
    assert [
        (task["task"], task["status"], task["a"]["output"], task["b"]["output"]) for task in comparison["tasks"]
    ] == [(name, "changed", f"[{name}] by a", f"[{name}] by b") for name in ("one", "two", "three")]
    done = team(*CREWGRAPH, "diff", "first", "second")
    assert done.returncode == 0 and "input topic: 'rain' -> 'snow'" in done.stdout
    assert "- [two] by a" in done.stdout and "+ [two] by b" in done.stdout
    assert team(*CREWGRAPH, "diff", "first", "second", "--exit-code").returncode == 1
    assert team(*CREWGRAPH, "diff", "first", "first", "--exit-code").returncode == 0
    done = team(*CREWGRAPH, "diff", "first", "third")
    assert done.returncode == 1 and done.stderr.startswith("Error: there is no run of thread `third`")
    assert team(*CREWGRAPH, "diff", "first").returncode == 2
