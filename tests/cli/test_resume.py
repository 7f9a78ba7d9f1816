"""`crewgraph resume`: runs that were killed, failed or wait are continued."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from cli.conftest import Python

DESK = """
import os, signal, sys
from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.flow import Flow, human_feedback, listen, persist, start

def reply(messages):
    name = str(messages[1]).partition("step <")[2].partition(">")[0]
    print("asked", name, flush=True)
    if name == "second" and os.environ.get("END"):
        os.kill(os.getpid(), signal.SIGKILL)
    return f"Final Answer: {name} is done"

clerk = Agent(role="clerk", goal="g", backstory="b", llm=ScriptedLLM(reply))
tasks = [Task(name=n, description=f"Do step <{n}>.", expected_output="e", agent=clerk) for n in ("first", "second")]
desk = Crew(agents=[clerk], tasks=tasks, name="desk")

@persist
class Post(Flow):
    @start()
    def write(self):
        print("wrote", flush=True)
        return "a letter"

    @listen(write)
    def send(self, letter):
        if os.environ.get("END"):
            os.kill(os.getpid(), signal.SIGKILL)
        return "sent " + letter

@persist
class Asking(Flow):
    @start()
    @human_feedback("Good?", emit=["yes", "no"], llm=None)
    def write(self):
        return "a letter"

if __name__ == "__main__":
    {"desk": lambda: desk.kickoff(thread_id="t"), "post": lambda: Post().kickoff({"id": "t"}),
     "asking": lambda: Asking().kickoff({"id": "t"})}[sys.argv[1]]()
"""


@pytest.fixture
def desk(python: Python, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Python:
    (tmp_path / "desk.py").write_text(DESK)
    return python


def resume(desk: Python, target: str, thread: str = "t") -> "subprocess.CompletedProcess[str]":
    return desk("-m", "crewgraph", "resume", thread, "--target", f"desk.py:{target}")


def killed(desk: Python, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("END", "1")
    assert desk("-W", "ignore", "desk.py", what).returncode == -signal.SIGKILL
    monkeypatch.delenv("END")


def test_a_killed_crew_continues_and_a_finished_one_tells_its_result_again(
    desk: Python, monkeypatch: pytest.MonkeyPatch
):
    killed(desk, "desk", monkeypatch)
    done = resume(desk, "desk")
    assert (done.returncode, done.stdout) == (0, "asked second\nsecond is done\n"), done.stderr
    again = resume(desk, "desk")
    assert (again.returncode, again.stdout) == (0, "second is done\n"), again.stderr


def test_a_killed_flow_continues(desk: Python, monkeypatch: pytest.MonkeyPatch):
    killed(desk, "post", monkeypatch)
    done = resume(desk, "Post")
    assert (done.returncode, done.stdout) == (0, "sent a letter\n"), done.stderr


def test_a_run_that_waits_says_how_it_is_answered(desk: Python):
    desk("-W", "ignore", "desk.py", "asking")
    waits = resume(desk, "Asking")
    assert waits.returncode == 3
    assert waits.stderr.endswith("Answer with `crewgraph approve t`.\n")


def test_a_thread_that_does_not_exist_is_an_error_in_one_line(desk: Python):
    wrong = resume(desk, "desk", "nothing")
    assert wrong.returncode == 1
    assert "there is no run of thread `nothing`" in wrong.stderr
    assert "Traceback" not in wrong.stderr
    assert os.linesep not in wrong.stderr.strip()
