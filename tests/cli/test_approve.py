"""`crewgraph approve`: waiting runs are listed, shown, answered and resumed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli.conftest import Python, at_terminal

OFFICE = """
from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.flow import Flow, human_feedback, listen, persist, start
from crewgraph.tools import tool

@tool(require_approval=True)
def pay(to: str) -> str:
    "Pay."
    print("paid", to)
    return "paid"

def said(messages):
    said = [one["content"] for one in messages if one["role"] == "assistant"]
    return [ToolUse("pay", {"to": "anna"}), "first", "second"][len(said)]

clerk = Agent(role="clerk\\n", goal="g", backstory="b", llm=ScriptedLLM(said), tools=[pay])
task = Task(name="pay", description="d", expected_output="e", agent=clerk, human_input=True)
office = Crew(agents=[clerk], tasks=[task], name="office")

@persist
class Post(Flow):
    @start()
    @human_feedback("Good?", emit=["yes", "no"])
    def write(self):
        return "a letter"

    @listen("yes")
    def send(self, result):
        return "sent " + result.output

@persist
class Desk(Flow):
    @start()
    def work(self):
        return office.kickoff().raw

if __name__ == "__main__":
    import sys
    what, thread = sys.argv[1:]
    print(office.kickoff(thread_id=thread) if what == "office" else (Post if what == "post" else Desk)().kickoff().flow_id)
"""


@pytest.fixture
def office(python: Python, tmp_path: Path) -> Python:
    (tmp_path / "office.py").write_text(OFFICE)
    return python


def approve(office: Python, *arguments: str, target: str = "office.py:office") -> "subprocess.CompletedProcess[str]":
    return office("-m", "crewgraph", "approve", *arguments, "--target", target)


def test_what_waits_is_listed(office: Python):
    assert office("-m", "crewgraph", "approve").stdout == "no run waits for an answer\n"
    office("office.py", "office", "t")
    first, second = office("-m", "crewgraph", "approve").stdout.splitlines()
    assert first.startswith("t  crew office  since ") and first.endswith(" UTC")
    assert second.endswith("  agent `clerk` in task `pay` asks whether it may call `pay(to='anna')`")


def test_a_run_continues_with_each_answer_until_it_is_done(office: Python):
    office("office.py", "office", "t")
    ran = approve(office, "t")
    assert ran.returncode == 3
    assert ran.stderr == "Answer with --yes, --no REASON or --answer TEXT, or run this command in a terminal.\n"
    assert 'clerk wants to call the tool pay with these arguments:\n\n{\n  "to": "anna"\n}' in ran.stdout
    ran = approve(office, "t", "--yes")
    assert ran.returncode == 3 and "paid anna" in ran.stdout and "whether its answer will do: 'first'" in ran.stdout
    ran = approve(office, "t", "--no", "longer")
    assert ran.returncode == 3 and "whether its answer will do: 'second'" in ran.stdout
    ran = approve(office, "t", "--yes")
    assert ran.returncode == 0 and ran.stdout.endswith("\nsecond\n")
    ran = approve(office, "t", "--yes")
    assert ran.returncode == 1
    assert ran.stderr == (
        "Error: no run of crew `office` with thread `t` waits for an answer; `crewgraph approve` lists the runs that do\n"
    )


def test_a_replay_that_asks_shows_the_question_and_how_to_answer(office: Python):
    office("office.py", "office", "t")
    approve(office, "t", "--yes")
    approve(office, "t", "--answer", "")
    ran = office("-m", "crewgraph", "replay", "-t", "pay", "t", "--target", "office.py:office")
    thread = ran.stderr.split()[1]
    assert ran.returncode == 3 and ran.stderr == f"run {thread}\nAnswer with `crewgraph approve {thread}`.\n"
    assert ran.stdout == (
        "crew `office` waits for an answer: agent `clerk` in task `pay` asks whether it may call `pay(to='anna')`. "
        f"Answer with `resume('{thread}', ...)`.\n"
    )


def test_a_refusal_and_other_arguments(office: Python):
    office("office.py", "office", "t")
    ran = approve(office, "t", "--no", "too dear")
    assert ran.returncode == 3 and "paid" not in ran.stdout.replace("`pay", "")
    office("office.py", "office", "u")
    ran = approve(office, "u", "--answer", '{"args": {"to": "bert"}}')
    assert ran.returncode == 3 and "paid bert" in ran.stdout


def test_invalid_usage_changes_nothing(office: Python):
    office("office.py", "office", "t")
    for wrong in (["--yes", "--no", "x"], ["--yes", "--question", "other"]):
        assert approve(office, "t", *wrong).returncode == 2
    assert approve(office, "t", "--database", "none.db").stderr == "Error: database `none.db` does not exist\n"
    assert "neither a crew nor a flow" in approve(office, "t", target="office.py:task").stderr
    approve(office, "t", "--yes")
    assert "--no needs a text" in approve(office, "t", "--no", " ").stderr


def test_flows_are_answered_too(office: Python):
    post = office("office.py", "post", "-").stdout.split()[-1]  # behind what it asks at the end of its input
    assert "`write` asks `Good?` (yes / no)" in office("-m", "crewgraph", "approve").stdout
    ran = approve(office, post, "--answer", "yes", target="office.py:Post")
    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (0, "sent a letter")


def test_a_crew_in_a_flow_is_answered_through_the_flow(office: Python):
    desk = office("office.py", "desk", "-").stdout.strip()
    (first, _) = office("-m", "crewgraph", "approve").stdout.splitlines()[:2]
    assert first.startswith(f"{desk}  flow Desk")
    assert approve(office, desk, "--yes", target="office.py:Desk").returncode == 3
    ran = approve(office, desk, "--yes", target="office.py:Desk")
    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (0, "first")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.parametrize(("what", "typed"), [("office", b"yes\n\n"), ("post", b"yes\n")])
def test_at_a_terminal_the_questions_are_asked_there(office: Python, tmp_path: Path, what: str, typed: bytes):
    flow_id = office("office.py", what, "t").stdout.split()[-1]
    thread, target = ("t", "office.py:office") if what == "office" else (flow_id, "office.py:Post")
    with at_terminal(tmp_path, "approve", thread, "--target", target) as (process, terminal):
        os.write(terminal, typed)
        printed = process.communicate(timeout=250)[0].decode()
    assert process.returncode == 0
    assert printed.endswith("first\n" if what == "office" else "sent a letter\n")
