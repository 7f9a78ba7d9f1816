"""How a process ends a run: Ctrl-C, SIGTERM, SIGKILL. What was recorded is kept, and the next process goes on there.

The end of an interpreter is part of what is tested, so for some kinds of run the tests start a true one (`TRUE_STARTS`); other
programs are forked from a process that has imported their packages.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import processes
import pytest
from combinations import of

PROGRAM = """
import asyncio, os, sys, threading, time, traceback
from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.flow import Flow, start
from crewgraph.tools import tool

kind, seconds = sys.argv[1], float(sys.argv[2])

@tool
def work(x: str) -> str:
    "Work."
    with open("worked.txt", "a") as worked:
        worked.write("x")
    print("begun\\n", end="", flush=True)
    if "detached" in sys.argv:  # as without a console on Windows
        sys.stdout = sys.stderr = None
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            time.sleep(0.05)
        except KeyboardInterrupt:
            if kind not in ("deaf", "starting"):
                raise
    return "worked"

def said(messages):
    done = [message for message in messages if message["role"] == "assistant"]
    uses = [ToolUse("work", {"x": number}) for number in ("1", "2")]
    return "Final Answer: end" if done else uses if kind == "calls" else uses[0]

def crew(parallel=False):
    clerk = Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM(said), tools=[work], cache=False)
    first = [
        Task(name=name, description=name, expected_output="e", agent=clerk, async_execution=parallel)
        for name in ("one", "two")[: 1 + parallel]
    ]
    last = Task(name="last", description="last", expected_output="e", agent=clerk)
    return Crew(agents=[clerk], tasks=[*first, *[last] * parallel], name="desk", cache=False)

class Journey(Flow[dict]):
    @start()
    def go(self):
        return crew().kickoff().raw

runs = {
    "sync": lambda: crew().kickoff(thread_id="t"),
    "calls": lambda: crew().kickoff(thread_id="t"),
    "deaf": lambda: crew(parallel=True).kickoff(thread_id="t"),
    "parallel": lambda: crew(parallel=True).kickoff(thread_id="t"),
    "starting": lambda: crew(parallel=True).kickoff(thread_id="t"),
    "async": lambda: asyncio.run(crew().akickoff(thread_id="t")),
    "flow": lambda: Journey(checkpointer=True).kickoff(inputs={"id": "t"}),
    "stream": lambda: list(crew().stream(thread_id="t")),
    "unkept": lambda: crew().kickoff(checkpointer=False),
}
resumes = {
    "flow": lambda: Journey(checkpointer=True).resume("t"),
    "async": lambda: crew().resume("t").raw,
    "sync": lambda: crew().resume("t").raw,
    "calls": lambda: crew().resume("t").raw,
    "stream": lambda: crew().resume("t").raw,
    "parallel": lambda: crew(parallel=True).resume("t").raw,
    "deaf": lambda: crew(parallel=True).resume("t").raw,
    "starting": lambda: crew(parallel=True).resume("t").raw,
}
if kind == "starting" and "resume" not in sys.argv:  # Ctrl-C comes while the first thread starts, which works already
    start_thread = threading.Thread.start

    def start_slowly(thread):
        start_thread(thread)
        if thread.name.startswith("crewgraph-node"):
            time.sleep(3)

    threading.Thread.start = start_slowly

if "torn" in sys.argv:  # Ctrl-C comes after a wait has released its lock, and before it would take it back
    wait = threading.Condition.wait

    def wait_torn(condition, timeout=None):
        waits_for_result = any(frame.filename.endswith("_base.py") for frame in traceback.extract_stack(limit=4))
        if threading.current_thread() is not threading.main_thread() or not waits_for_result:
            return wait(condition, timeout)
        threading.Condition.wait = wait
        condition._release_save()
        while not os.path.exists("worked.txt"):
            time.sleep(0.01)
        raise KeyboardInterrupt

    threading.Condition.wait = wait_torn

print(resumes[kind]() if "resume" in sys.argv else runs[kind]())
"""

TRUE_STARTS = ("async", "deaf", "flow", "stream")


class Running:
    """A process whose tool has begun to work."""

    def __init__(self, folder: Path, kind: str, seconds: float, *more: str) -> None:
        (folder / "program.py").write_text(PROGRAM)
        self.command = [sys.executable, "-W", "ignore", "program.py", kind]
        self.folder, self.env = folder, {**os.environ, "CREWGRAPH_STORAGE_DIR": str(folder)}
        pipe = subprocess.PIPE
        self.process = (subprocess if kind in TRUE_STARTS else processes).Popen(
            [*self.command, str(seconds), *more], cwd=folder, env=self.env, stdout=pipe, stderr=pipe, text=True
        )
        self.await_tool()

    def await_tool(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "begun\n"

    def end(self, signal_number: int) -> tuple[int, str, float]:
        """Send a signal; return the status, what was printed to stderr, and the seconds until the end."""
        sent = time.monotonic()
        self.process.send_signal(signal_number)
        _, error = self.process.communicate(timeout=120)
        return self.process.returncode, error, time.monotonic() - sent

    @property
    def worked(self) -> int:
        return len((self.folder / "worked.txt").read_text())

    def resumed(self) -> str:
        ended = processes.run(
            [*self.command, "0", "resume"],
            cwd=self.folder,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        return ended.stdout.splitlines()[-1]


@pytest.mark.parametrize("kind", ["sync", "flow"])
def test_ctrl_c_ends_with_one_message_that_says_how_to_continue(tmp_path: Path, kind: str):
    running = Running(tmp_path, kind, 600)
    status, error, _ = running.end(signal.SIGINT)
    resume = "`crew.resume('t')`" if kind == "sync" else "`flow.resume('t')`"
    assert status == -signal.SIGINT
    assert error.splitlines()[-1].endswith(f"was interrupted; its progress is stored, and {resume} continues it")
    assert len(error.splitlines()) < 25
    assert running.resumed() == "end"


def test_ctrl_c_in_a_run_that_is_not_kept_says_so(tmp_path: Path):
    _, error, _ = Running(tmp_path, "unkept", 60).end(signal.SIGINT)
    assert (
        error.splitlines()[-1]
        == "KeyboardInterrupt: the run of crew `desk` was interrupted; its progress was not stored"
    )


@pytest.mark.parametrize("kind", ["async", "parallel", "calls"][: of(1, 3)])
def test_ctrl_c_waits_for_a_tool_in_a_thread_and_records_what_it_did(tmp_path: Path, kind: str):
    running = Running(tmp_path, kind, 2)
    _, error, seconds = running.end(signal.SIGINT)
    assert "`crew.resume('t')` continues it" in error
    assert seconds < 100
    worked = running.worked
    assert running.resumed() == "end"
    # Nothing is done twice: each of three tasks calls the tool once, of which two are parallel; one task calls it twice at once;
    # the async run had only one.
    assert running.worked == {"parallel": 3, "calls": 2, "async": worked}[kind]


@pytest.mark.parametrize("kind", ["parallel", "calls", "stream"][: of(1, 3)])
def test_ctrl_c_in_the_middle_of_a_wait_for_threads_ends_the_run_as_at_any_time(tmp_path: Path, kind: str):
    running = Running(tmp_path, kind, 2, "torn")
    _, error = running.process.communicate(timeout=60)
    assert "`crew.resume('t')` continues it" in error
    assert "KeyboardInterrupt: the run of crew `desk` was interrupted" in error.splitlines()[-1]
    assert running.resumed() == "end"
    assert running.worked == {"parallel": 3, "calls": 2, "stream": 1}[kind]


def test_ctrl_c_while_a_thread_starts_records_what_that_thread_did(tmp_path: Path):
    running = Running(tmp_path, "starting", 2)
    running.end(signal.SIGINT)
    assert running.worked == 1
    assert running.resumed() == "end" and running.worked == 3


@pytest.mark.parametrize("kind", ["deaf", "starting", "calls", "async"][: of(2, 4)])
def test_a_tool_that_ignores_ctrl_c_does_not_keep_the_process(tmp_path: Path, kind: str):
    status, error, seconds = Running(tmp_path, kind, 600).end(signal.SIGINT)
    assert status == -signal.SIGINT
    assert "`crew.resume('t')` continues it" in error
    assert seconds < 100


@pytest.mark.parametrize("kind", ["calls", "deaf"][: of(1, 2)])
def test_a_second_ctrl_c_does_not_wait_for_threads(tmp_path: Path, kind: str):
    running = Running(tmp_path, kind, 600)
    running.await_tool()  # while the second thread starts, Ctrl-C ends the run at once, and again the interpreter
    running.process.send_signal(signal.SIGINT)
    time.sleep(1)
    status, _, seconds = running.end(signal.SIGINT)
    assert status == -signal.SIGINT
    assert seconds < 100


@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGKILL][: of(1, 2)])
@pytest.mark.parametrize("kind", ["sync", "async", "flow"])
def test_a_process_that_is_told_to_end_leaves_a_run_to_resume(tmp_path: Path, kind: str, signal_number: signal.Signals):
    running = Running(tmp_path, kind, 600)
    status, error, seconds = running.end(signal_number)
    assert (status, error) == (-signal_number, "")
    assert seconds < 100
    assert running.resumed() == "end"
    assert running.worked == 2  # the call that had not ended is made again


TIME_LIMITS = """
import asyncio, sys, time
from crewgraph import Agent, BaseLLM, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.errors import BudgetExceeded, TimeLimitReached
from crewgraph.tools import tool
from langchain_core.language_models import GenericFakeChatModel

what, kind = sys.argv[1:3]

def hang(*args, **options):
    while True:
        time.sleep(1)

@tool
def work(x: str) -> str:
    "Work."
    hang()

@tool
def others(x: str) -> str:
    "Work with others."
    other = Agent(role="Other", goal="g", backstory="b", llm=Silent("silent"))
    tasks = [Task(description=n, expected_output="e", agent=other, async_execution=n != "last") for n in ("a", "b", "last")]
    return Crew(agents=[other], tasks=tasks).kickoff(checkpointer=False).raw

class Silent(BaseLLM):
    call = hang

class SilentLangChain(GenericFakeChatModel):
    _generate = hang

use = ScriptedLLM(lambda messages: ToolUse("others" if what == "others" else "work", {"x": "1"}))
uses = ScriptedLLM(lambda messages: [ToolUse("work", {"x": n}) for n in "12"])
llms = {"tool": use, "others": use, "calls": uses, "model": Silent("s"), "langchain": SilentLangChain(messages=iter(()))}
limits = {"max_execution_time": 0.5} if kind == "agent" else {}
llm = llms.get(what, ScriptedLLM(lambda messages: "Final Answer: end"))
clerk = Agent(role="Clerk", goal="g", backstory="b", llm=llm, tools=[work, others], **limits)
task = Task(description="d", expected_output="e", agent=clerk, **({what: hang} if what in ("guardrail", "callback") else {}))
crew = Crew(agents=[clerk], tasks=[task], max_seconds=None if limits else 0.5)
try:
    if kind == "cancelled":
        asyncio.run(asyncio.wait_for(crew.akickoff(checkpointer=False), 0.5))
    elif kind == "async":
        asyncio.run(crew.akickoff(thread_id="t"))
    else:
        crew.kickoff(thread_id="t")
except (BudgetExceeded, TimeLimitReached, TimeoutError) as error:
    print(type(error).__name__, [run.status for run in crew.runs()])
sys.exit(3)
"""

HANGING = [
    *(
        ("tool", "sync"), ("tool", "async"), ("calls", "agent"), ("others", "agent"), ("model", "sync"),
        ("model", "async"),
    ),
    *(("model", "cancelled"), ("langchain", "async"), ("guardrail", "sync"), ("callback", "async")),
]  # fmt: skip


def test_a_call_that_hangs_does_not_keep_a_process_whose_run_has_reached_a_time_limit(tmp_path: Path):
    (tmp_path / "program.py").write_text(TIME_LIMITS)
    ended = dict[tuple[str, str], tuple[int, str]]()
    for number, case in enumerate(HANGING):
        process = processes.run(
            [sys.executable, "-W", "ignore", "program.py", *case],
            cwd=tmp_path,
            env={**os.environ, "CREWGRAPH_STORAGE_DIR": str(tmp_path / str(number))},
            capture_output=True,
            text=True,
            timeout=60,
        )
        ended[case] = (process.returncode, process.stdout)
    names = {"agent": "TimeLimitReached ['failed']\n", "cancelled": "TimeoutError []\n"}
    assert ended == {case: (3, names.get(case[1], "BudgetExceeded ['failed']\n")) for case in HANGING}
