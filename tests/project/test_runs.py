"""Runs of projects: callbacks around a kickoff, stored runs, and whole programs."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import processes
import pytest
from modes import Mode
from runtime.parts import agent, asked, crew, task
from servers.openai_api import OpenAIServer, Request, call

from crewgraph import ScriptedLLM, Task, TaskOutput

from .parts import AGENTS, CREW, TASKS

ROOT = Path(__file__).parents[2]

Load = Callable[..., Any]


@pytest.fixture
def paper(load: Load) -> Any:
    return load(CREW, agents=AGENTS, tasks=TASKS).Paper()


def with_hooks(load: Load, hooks: str) -> Any:
    program = CREW.replace("class Paper:\n", f"class Paper:\n    seen = []\n{hooks}\n")
    return load(program, agents=AGENTS, tasks=TASKS).Paper()


def test_a_project_runs_with_inputs(mode: Mode, paper: Any):
    result = mode.kickoff(paper.crew(), {"topic": "tides"})
    assert result.raw == "the tide"
    assert [(one.name, one.agent) for one in result.tasks_output] == [
        ("facts", "Researcher of tides"),
        ("text", "Writer"),
    ]
    assert "Collect facts about tides." in asked(paper.researcher().llm)[0]
    assert "the moon" in asked(paper.writer().llm)[0]


def test_a_project_compiles_to_a_graph_with_a_node_per_method(mode: Mode, paper: Any):
    state = mode.invoke(paper.crew().compile(), {"inputs": {"topic": "tides"}})
    assert {name: output["raw"] for name, output in state.items() if name not in ("inputs", "output")} == {
        "facts": "the moon",
        "text": "the tide",
    }


@pytest.mark.parametrize("word", ["def", "async def"])
def test_hooks_are_called_around_a_run_in_the_order_of_the_class(mode: Mode, load: Load, word: str):
    hooks = f"""
    @before_kickoff
    {word} first(self, inputs):
        self.seen.append(("first", dict(inputs)))
        return {{**inputs, "topic": "tides"}}

    @before_kickoff
    {word} another(self, inputs):
        self.seen.append(("another", dict(inputs)))
        inputs["unused"] = 1

    @after_kickoff
    {word} note(self, output):
        self.seen.append(("note", output.raw))

    @after_kickoff
    {word} shout(self, output):
        output.raw = output.raw.upper()
        return output
"""
    project = with_hooks(load, hooks)
    result = mode.kickoff(project.crew(), {"topic": "?"})
    assert result.raw == "THE TIDE"
    assert project.seen == [("first", {"topic": "?"}), ("another", {"topic": "tides"}), ("note", "the tide")]
    assert result.tasks_output[0].agent == "Researcher of tides"


@pytest.mark.parametrize("word", ["def", "async def"])
def test_callbacks_of_a_task_are_called_each_once_in_order(mode: Mode, load: Load, word: str):
    program = f"""
    {CREW}
    @callback
    {word} first(self, output):
        calls.append(("first", output.raw))

    @callback
    {word} second(self, output):
        calls.append(("second", output.raw))

calls = []
"""
    tasks = TASKS + "  callback: first\n  callbacks: [second, first]\n"
    module = load(dedent(program), agents=AGENTS, tasks=tasks)
    mode.kickoff(module.Paper().crew(), {"topic": "tides"})
    assert module.calls == [("first", "the tide"), ("second", "the tide")]


def test_callbacks_may_be_given_to_a_task_without_a_project(mode: Mode):
    received: list[str] = []

    def hear(output: TaskOutput) -> None:
        received.append(output.raw)

    mode.kickoff(crew(task("a", agent(ScriptedLLM(["x"])), callbacks=[hear])))
    assert received == ["x"]
    with pytest.raises(ValueError, match="a callback is a function of one argument, not 5"):
        Task(description="d", expected_output="e", callbacks=[5])


def test_a_project_that_fails_continues_where_it_stopped(mode: Mode, load: Load):
    failing = CREW.replace('["the tide"]', '[ConnectionError("down"), "the tide"]')
    hooks = """
    seen = []

    @before_kickoff
    def before(self, inputs):
        self.seen.append("before")
        return inputs

    @after_kickoff
    def after(self, output):
        self.seen.append("after")
        return output
"""
    module = load(
        failing.replace("class Paper:\n", f"class Paper:\n{hooks}\n"),
        agents=AGENTS + "  max_retry_limit: 0\n",
        tasks=TASKS,
    )
    first = module.Paper()
    with pytest.raises(ConnectionError, match="down"):
        mode.kickoff(first.crew(), {"topic": "tides"}, thread_id="paper-1")
    second = module.Paper()
    second.writer().llm = first.writer().llm
    assert mode.resume(second.crew(), "paper-1").raw == "the tide"
    assert asked(second.researcher().llm) == []
    assert module.Paper.seen == ["before", "after"]


MAIN = """
#!/usr/bin/env python
import sys

from harbour.crew import Harbour


def run():
    inputs = {"port": sys.argv[1]}
    result = Harbour().crew().kickoff(inputs=inputs)
    print(result.raw)


if __name__ == "__main__":
    run()
"""

HARBOUR = '''
from typing import List

from crewai import Agent, Crew, Process, Task
from crewai.agents.agent_builder.base_agent import BaseAgent
from crewai.project import CrewBase, after_kickoff, agent, before_kickoff, crew, task, tool
from crewai.tools import BaseTool

from harbour.tools.depth import Depth


@CrewBase
class Harbour():
    """The harbour office."""

    agents: List[BaseAgent]
    tasks: List[Task]

    agents_config = "config/agents.yaml"
    tasks_config = "config/tasks.yaml"

    @before_kickoff
    def greet(self, inputs):
        print("Ships for", inputs["port"])
        return inputs

    @tool
    def depth(self) -> BaseTool:
        return Depth()

    @agent
    def pilot(self) -> Agent:
        return Agent(config=self.agents_config["pilot"], verbose=False)  # type: ignore[index]

    @agent
    def clerk(self) -> Agent:
        return Agent(config=self.agents_config["clerk"])  # type: ignore[index]

    @task
    def sound(self) -> Task:
        return Task(config=self.tasks_config["sound"])  # type: ignore[index]

    @task
    def log(self) -> Task:
        return Task(config=self.tasks_config["log"], output_file="log.md")  # type: ignore[index]

    @crew
    def crew(self) -> Crew:
        """The office at work."""
        return Crew(agents=self.agents, tasks=self.tasks, process=Process.sequential, verbose=False)

    @after_kickoff
    def count(self, output):
        print(len(output.tasks_output), "tasks,", output.token_usage.successful_requests, "requests")
'''

DEPTH = """
from crewai.tools import BaseTool
from pydantic import BaseModel, Field


class Place(BaseModel):
    port: str = Field(..., description="The port.")


class Depth(BaseTool):
    name: str = "depth"
    description: str = "How deep a port is."
    args_schema: type[BaseModel] = Place

    def _run(self, port: str) -> str:
        return f"{port}: 12 m"
"""

HARBOUR_AGENTS = """
pilot:
  role: >
    Pilot of {port}
  goal: >
    Know how deep {port} is
  backstory: >
    You never guess.
  llm: openai/gpt-4o-mini
  tools: [depth]

clerk:
  role: Clerk
  goal: Keep the log
  backstory: You write one line.
  llm: openai/gpt-4o-mini
"""

HARBOUR_TASKS = """
sound:
  description: >
    Measure how deep {port} is.
  expected_output: >
    The depth
  agent: pilot

log:
  description: Write it into the log.
  expected_output: A line
  agent: clerk
  context:
    - sound
"""


@pytest.fixture
def office(tmp_path: Path) -> Path:
    files = {
        "harbour/__init__.py": "",
        "harbour/main.py": MAIN,
        "harbour/crew.py": HARBOUR,
        "harbour/tools/__init__.py": "",
        "harbour/tools/depth.py": DEPTH,
        "harbour/config/agents.yaml": HARBOUR_AGENTS,
        "harbour/config/tasks.yaml": HARBOUR_TASKS,
        "main.py": "from harbour.main import run\n\nrun()\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text.lstrip("\n"), "utf-8")
    return tmp_path


def run(folder: Path, *program: str, **more: str) -> "subprocess.CompletedProcess[str]":
    path = os.pathsep.join([str(ROOT), str(ROOT / "compat")])
    return processes.run(
        [sys.executable, *processes.STRICT, "-m", "crewgraph", "run", *program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, **more},
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )


def answer(request: Request) -> Any:
    said = str(request.body["messages"])
    if "Write it into the log" in said:
        return "Brest is 12 m deep." if "Twelve metres" in said else "nothing"
    return "Twelve metres" if "Brest: 12 m" in said else call("depth", {"port": "Brest"})


def test_a_project_as_its_author_left_it_runs_under_crewgraph_run(office: Path):
    with OpenAIServer(answer) as server:
        done = run(office, "main.py", "Brest", OPENAI_API_KEY="key", OPENAI_BASE_URL=server.url)
    assert done.stderr == ""
    assert done.stdout == "Ships for Brest\n2 tasks, 3 requests\nBrest is 12 m deep.\n"
    assert (office / "log.md").read_text("utf-8") == "Brest is 12 m deep."
    assert "Pilot of Brest" in str(server.bodies[0]["messages"])


def test_a_fault_in_yaml_is_reported_to_who_runs_the_program(office: Path):
    (office / "harbour" / "config" / "tasks.yaml").write_text(HARBOUR_TASKS.replace("agent: clerk", "agent: clark"))
    done = run(office, "main.py", "Brest")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "crewgraph.errors.UnknownName: harbour/config/tasks.yaml:12: `agent` of `log`: `Harbour` has no @agent method `clark`. "
        "Did you mean `clerk`? It has `pilot`, `clerk`."
    )
