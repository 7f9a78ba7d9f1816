"""Tracebacks of failed runs: the place in the user's code, the error, the task, and how to resume."""

import os
import sys
from pathlib import Path

import processes
import pytest
from servers.openai_api import OpenAIServer, error

PROGRAM = """
import asyncio, sys
from crewgraph import LLM, Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.flow import Flow, start
from crewgraph.tools import tool

def broken(messages):
    raise ConnectionError("the provider is down")

llms = {"key": "openai/gpt-4o-mini", "code": ScriptedLLM(broken)}

def crew():
    clerk = Agent(role="Clerk", goal="g", backstory="b", llm=llms[sys.argv[2]], max_retry_limit=0)
    return Crew(name="desk", agents=[clerk], tasks=[Task(name="mail", description="d", expected_output="e", agent=clerk)])

def finished():
    own, llms[sys.argv[2]] = llms[sys.argv[2]], ScriptedLLM(["done"])
    thread = crew().kickoff().thread_id
    llms[sys.argv[2]] = own
    return thread

def replayed():
    finished()
    again = crew()
    return again.replay("mail")

async def every(items):
    async for _ in items:
        pass

def streaming():
    team = crew()
    return Crew(name="desk", agents=team.agents, tasks=team.tasks, stream=True)

async def chunks():
    return await every(await streaming().akickoff(thread_id="t"))

class Office(Flow):
    @start()
    def work(self):
        return crew().kickoff(checkpointer=False).raw

runs = {
    "kickoff": lambda: crew().kickoff(thread_id="t"),
    "akickoff": lambda: asyncio.run(crew().akickoff(thread_id="t")),
    "each": lambda: crew().kickoff_for_each([{}]),
    "flow": lambda: Office().kickoff(),
    "fork": lambda: crew().fork("mail", thread_id=finished()),
    "replay": lambda: replayed(),
    "stream": lambda: list(crew().stream(thread_id="t")),
    "astream": lambda: asyncio.run(every(crew().astream(thread_id="t"))),
    "chunks": lambda: list(streaming().kickoff(thread_id="t")),
    "achunks": lambda: asyncio.run(chunks()),
    "flow stream": lambda: list(Office().stream()),
    "task": lambda: crew().tasks[0].execute_sync(),
    "atask": lambda: asyncio.run(crew().tasks[0].aexecute_sync()),
}
runs[sys.argv[1]]()
"""


def failed(tmp_path: Path, *arguments: str, **environment: str) -> list[str]:
    (tmp_path / "program.py").write_text(PROGRAM)
    with OpenAIServer([error(401, "wrong key", code="invalid_api_key")] * 9) as server:
        env = {**os.environ, "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.url, **environment}
        done = processes.run(
            [sys.executable, "program.py", *arguments], capture_output=True, text=True, cwd=tmp_path, env=env
        )
    assert done.returncode == 1
    return [line for line in done.stderr.splitlines() if line.strip(" ^~")]  # newer Pythons underline calls


STREAMS = ["stream", "astream", "chunks", "achunks", "flow stream"]


@pytest.mark.parametrize("run", ["kickoff", "akickoff", "each", "flow", "fork", "replay", "task", "atask", *STREAMS])
@pytest.mark.parametrize(("llm", "says"), [("key", "wrong key"), ("code", "ConnectionError: the provider is down")])
def test_a_failed_run_shows_the_users_code_the_error_and_its_place(run: str, llm: str, says: str, tmp_path: Path):
    lines = failed(tmp_path, run, llm)
    assert len(lines) <= 28, "\n".join(lines)
    text = "\n".join(lines)
    assert "in <module>" in text and says in text and "in task `mail` of agent `Clerk`" in text
    assert "During task with name" not in text
    frames = [line for line in lines if line.startswith("  File")]
    assert not [line for line in frames if "langgraph" in line or f"{os.sep}crewgraph{os.sep}" in line], text
    assert ("in broken" in text) == (llm == "code")
    if run in ("kickoff", "akickoff", "stream", "astream", "chunks", "achunks"):
        assert lines[-1 if lines[-1] else -2] == "`crew.resume('t')` continues the run"


def test_whole_tracebacks_are_there_for_who_asks(tmp_path: Path):
    text = "\n".join(failed(tmp_path, "kickoff", "code", CREWGRAPH_TRACEBACK="full"))
    assert "crewgraph/core/interpreter.py" in text and "in task `mail` of agent `Clerk`" in text
