"""Annotations may use names that are imported for type checkers only: unquoted on Python 3.14, as text on earlier ones."""

import sys
from pathlib import Path

import processes
import pytest

FUTURE = "" if sys.version_info >= (3, 14) else "from __future__ import annotations\n"
IMPORTS = """
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from crewgraph import Agent, BaseLLM, ConditionalTask, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.definitions.flow.method import returned_labels
from crewgraph.events import CrewKickoffStartedEvent, crewai_event_bus
from crewgraph.flow import Flow, listen, router, start
from crewgraph.hooks import before_llm_call
from crewgraph.project import CrewBase, after_kickoff, agent, before_kickoff, crew, task
from crewgraph.tools import BaseTool, tool

if TYPE_CHECKING:
    from elsewhere import Thing


def worker(*script, **fields):
    return Agent(role="r", goal="g", backstory="b", llm=ScriptedLLM(list(script)), **fields)


def run(one, **fields):
    work = Task(description="d", expected_output="e", agent=one)
    return Crew(agents=[one], tasks=[work], **fields).kickoff(checkpointer=False).raw


"""

PROGRAMS = {
    "functions of a crew": """
def judge(output: Thing) -> tuple[bool, Thing]: return True, output.raw
def tell(output: Thing) -> Thing: print("told")
def prepare(inputs: Thing) -> Thing: return inputs
def is_due(output: Thing) -> Thing: return True

one = worker("x", step_callback=tell)
tasks = [
    Task(description="d", expected_output="e", agent=one, guardrail=judge, callback=tell),
    ConditionalTask(description="f", expected_output="e", agent=worker("y"), condition=is_due),
]
given = {"before_kickoff_callbacks": [prepare], "after_kickoff_callbacks": [prepare], "task_callback": tell}
assert Crew(agents=[one], tasks=tasks, **given).kickoff(checkpointer=False).raw == "y"
""",
    "tools": """
@tool
def look(place: str) -> Thing:
    "Look."
    return f"seen {place}"

class Dig(BaseTool):
    name: str = "dig"
    description: str = "Dig."
    def _run(self, place: str) -> Thing: return "dug"

script = (ToolUse("look", {"place": "x"}), ToolUse("dig", {"place": "x"}), "done")
assert run(worker(*script, tools=[look, Dig()])) == "done"
""",
    "a model": """
class Own(BaseLLM):
    kind: Thing
    def call(self, messages: Thing, tools: Thing = None, **more: Thing) -> Thing: return "said"

assert run(Agent(role="r", goal="g", backstory="b", llm=Own("own"))) == "said"
""",
    "a flow": """
class Way(Flow):
    kept: Thing
    @start()
    def begin(self) -> Thing: return "one"
    @router(begin)
    def turn(self, found: Thing) -> Literal["left", "right"]: return found.replace("one", "left")
    @listen("left")
    def end(self, found: Thing) -> list[Thing]: return [found]

assert Way().kickoff() == ["left"]
assert returned_labels(Way.turn) == {"left", "right"}
Way().plot("way")
assert "def end(found: Thing) -&gt; list[Thing]" in Path("way.html").read_text("utf-8")
""",
    "a project": """
@CrewBase
class Project:
    agents_config: Any = {"w": {"role": "r", "goal": "g", "backstory": "b"}}
    tasks_config: Any = {"t": {"description": "d", "expected_output": "e", "agent": "w"}}
    agents: list[Thing]
    tasks: list[Thing]
    @before_kickoff
    def prepare(self, inputs: Thing) -> Thing: return inputs
    @after_kickoff
    def end(self, output: Thing) -> Thing: return output
    @agent
    def w(self) -> Thing: return Agent(config=self.agents_config["w"], llm=ScriptedLLM(["x"]))
    @task
    def t(self) -> Thing: return Task(config=self.tasks_config["t"])
    @crew
    def crew(self) -> Thing: return Crew(agents=self.agents, tasks=self.tasks)

assert Project().crew().kickoff(checkpointer=False).raw == "x"
""",
    "handlers and hooks": """
seen = []

@crewai_event_bus.on(CrewKickoffStartedEvent)
def begun(source: Thing, event: Thing) -> Thing: seen.append("event")

@before_llm_call
def ask(context: Thing) -> Thing: seen.append("hook")

assert run(worker("x")) == "x"
crewai_event_bus.flush()
assert sorted(seen) == ["event", "hook"]
""",
    "an argument of a tool, which has to be known": """
try:
    @tool
    def look(place: Thing) -> str:
        "Look."
        return "seen"
except Exception as error:
    assert "an annotation of `look` cannot be understood: name 'Thing' is not defined." in str(error)
else:
    raise AssertionError(look.args_schema.model_json_schema())
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_they_need_not_exist_when_the_program_runs(program: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(FUTURE + IMPORTS + PROGRAMS[program], "utf-8")
    command = [sys.executable, *processes.STRICT, "program.py"]
    done = processes.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=250)
    assert (done.returncode, done.stderr) == (0, "")
