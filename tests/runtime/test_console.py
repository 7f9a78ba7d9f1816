"""What a verbose run shows."""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import processes
import pytest
from modes import Mode
from waiting import LONG

from crewgraph import Crew, ScriptedLLM, ToolUse

from .parts import agent, crew, task

ROOT = Path(__file__).parents[2]

PROGRAM = """
from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.tools import tool

@tool
def look(i: int) -> str:
    "Look at something."
    return f"saw {i}"

llm = ScriptedLLM([ToolUse("look", {"i": 7}), "the answer"])
worker = Agent(role="Scout", goal="g", backstory="b", llm=llm, tools=[look])
Crew(agents=[worker], tasks=[Task(name="explore", description="d", expected_output="e", agent=worker)], verbose=True).kickoff()
"""


def shown(program: str) -> str:
    done = processes.run(
        [sys.executable, *processes.STRICT, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout


def test_a_verbose_run_into_a_pipe_is_plain_text():
    said = shown(PROGRAM)
    assert "\x1b" not in said
    for word in ("Scout", "explore", "look", "saw 7", "the answer"):
        assert word in said


def test_a_run_that_is_not_verbose_shows_nothing():
    assert shown(PROGRAM.replace("verbose=True", "verbose=False")) == ""


def test_a_verbose_agent_in_a_quiet_crew_shows_its_own_tasks_alone(mode: Mode, capsys: pytest.CaptureFixture[str]):
    loud, quiet = agent(ScriptedLLM(["x"]), role="loud one", verbose=True), agent(ScriptedLLM(["y"]), role="quiet one")
    mode.kickoff(crew(task("a", loud), task("b", quiet)))
    said = capsys.readouterr().out
    assert "loud one" in said
    assert "quiet one" not in said


def test_the_work_of_a_coworker_is_shown_under_the_task_and_the_coworkers_role(
    mode: Mode, capsys: pytest.CaptureFixture[str]
):
    handed = ToolUse("Delegate work to coworker", {"task": "write it", "context": "all", "coworker": "Tide writer"})
    boss = agent(ScriptedLLM([handed, "done"]), "Lead", allow_delegation=True)
    writer = agent(ScriptedLLM(["written"]), "{topic} writer")
    made = Crew(agents=[boss, writer], tasks=[task("report", boss)], verbose=True)
    mode.kickoff(made, {"topic": "Tide"})
    assert "[report > Tide writer] agent started" in capsys.readouterr().out


def test_lines_of_parallel_runs_tell_their_thread(capsys: pytest.CaptureFixture[str]):
    both = threading.Barrier(2, timeout=LONG)

    def meet(_: object) -> str:
        both.wait()
        return "done"

    team = crew(task("write", agent(ScriptedLLM(meet))), verbose=True)

    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(team.kickoff, thread_id=f"run-{number}") for number in range(2)]
    assert [run.result().raw for run in runs] == ["done", "done"]
    # One of them may have begun before it was known that there is another.
    lines = [line for line in capsys.readouterr().out.splitlines() if "started" not in line]
    assert {line.partition("]")[0] for line in lines} == {
        f"[run-{number} > {scope}" for number in range(2) for scope in ("crew", "write")
    }
    crew(task("write", agent(ScriptedLLM(["done"]))), verbose=True).kickoff()
    assert "[write] task started" in capsys.readouterr().out
