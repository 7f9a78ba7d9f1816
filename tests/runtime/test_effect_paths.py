"""The paths of effects are part of the format: a resumed run finds what it has done by them.

If paths change, stored runs would ask models and use tools again. So change `FORMAT` with them, and write them down anew:
`PYTHONPATH=tests:compat python -m runtime.test_effect_paths`.
"""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from crewgraph import Agent, Crew, Knowledge, ScriptedLLM, Task, ToolUse
from crewgraph.core.journal import CHANNEL
from crewgraph.flow import Flow, listen, router, start
from crewgraph.formats import FORMAT
from crewgraph.tools import tool

FILE = Path(__file__).with_name("effect_paths.json")


class Depth(BaseModel):
    metres: int


@tool
def look(what: str) -> str:
    """Look at something."""
    return "it is deep"


@tool(require_approval=True)
def pay(to: str) -> str:
    """Pay somebody."""
    return "paid"


@tool(once=True)
def mail(to: str) -> str:
    """Send a mail."""
    return "sent"


def clerk(*replies: Any, **fields: Any) -> Agent:
    return Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM([*replies], native_tools=True), **fields)


def same(value: Any) -> Any:
    return value


def task(agent: Agent, **fields: Any) -> Task:
    return Task(description="Do it.", expected_output="A word", agent=agent, **fields)


def tools_and_checks(saver: Any, granularity: str = "task") -> None:
    uses = [ToolUse("look", {"what": "sea"}), ToolUse("mail", {"to": "Ada"})]
    worker = clerk(*uses, "five", "six", "Answer: six", '{"metres": 6}', tools=[look, mail])
    verdicts = iter([(False, "too low"), (True, "six")])

    def judge(output: Any) -> Any:
        return next(verdicts)

    checked = task(worker, name="checked", guardrail=judge, callback=str, output_pydantic=Depth)
    Crew(agents=[worker], tasks=[checked, task(clerk("seven"))]).kickoff(
        checkpointer=saver, thread_id="t", granularity=granularity
    )


def steps(saver: Any) -> None:
    tools_and_checks(saver, "step")


def people(saver: Any) -> None:
    worker = clerk(ToolUse("pay", {"to": "Ada"}), "paid", "paid today", tools=[pay])
    crew = Crew(agents=[worker], tasks=[task(worker, human_input=True)])
    crew.kickoff(checkpointer=saver, thread_id="t")
    for answer in (True, "When?", ""):
        crew.resume("t", answer, checkpointer=saver)


def plans_and_coworkers(saver: Any) -> None:
    plan = {"list_of_plans_per_task": [{"task_number": 1, "plan": ["Look."]}]}
    work = {"task": "Look", "context": "at home", "coworker": "Helper"}
    lead = clerk(
        "A plan. READY", ToolUse("delegate_work_to_coworker", work), "done", allow_delegation=True, reasoning=True
    )
    helper = Agent(role="Helper", goal="g", backstory="b", llm=ScriptedLLM(["it is deep"]))
    planner = ScriptedLLM([json.dumps(plan)])
    Crew(agents=[lead, helper], tasks=[task(lead)], planning=True, planning_llm=planner).kickoff(
        checkpointer=saver, thread_id="t"
    )


def memory_and_knowledge(saver: Any) -> None:
    worker = clerk("deep", "deep", '{"suggestions": [], "quality": 8, "entities": []}', max_execution_time=60)
    Crew(
        agents=[worker],
        tasks=[task(worker)],
        memory=True,
        knowledge=Knowledge("hours", ["The harbour opens at six."]),
        before_kickoff_callbacks=[same],
        after_kickoff_callbacks=[same],
    ).kickoff({}, checkpointer=saver, thread_id="t")


class Walk(Flow[dict[str, Any]]):
    @start()
    def up(self) -> str:
        return str(self.ask("Where to?"))

    @router(up)
    def turn(self, where: str) -> str:
        return "left"

    @listen("left")
    def home(self) -> str:
        worker = clerk(ToolUse("look", {"what": "sea"}), "deep", tools=[look])
        return f"{Crew(agents=[worker], tasks=[task(worker)]).kickoff().raw}, {clerk('high').kickoff('How high?').raw}"


def flow(saver: Any) -> None:
    walk = Walk(checkpointer=saver)
    waiting = walk.kickoff()
    walk.resume(waiting.flow_id, "home")


PROGRAMS = (tools_and_checks, steps, people, plans_and_coworkers, memory_and_knowledge, flow)


def paths(program: Callable[[Any], None]) -> list[str]:
    """Return the paths of the effects that a program records, in the order of its checkpoints."""
    saver = InMemorySaver()
    program(saver)
    threads = sorted(saver.storage)
    found = [
        [task.partition("#")[2].partition("@") for task, channel, _ in saved.pending_writes or () if channel == CHANNEL]
        for thread in threads
        for saved in reversed([*saver.list({"configurable": {"thread_id": thread}})])
    ]
    return [" ".join(path + "?" * digest.endswith("?") for path, _, digest in records) for records in found if records]


def written() -> dict[str, Any]:
    return {"format": FORMAT, **{program.__name__: paths(program) for program in PROGRAMS}}


def test_the_paths_of_effects_are_those_of_the_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert written() == json.loads(FILE.read_text("utf-8")), (
        "stored runs would not find what they have done: give `FORMAT` in crewgraph/formats.py a new number, and run "
        "`PYTHONPATH=tests:compat python -m runtime.test_effect_paths`"
    )


if __name__ == "__main__":
    import os

    with tempfile.TemporaryDirectory() as folder:
        os.environ["CREWGRAPH_STORAGE_DIR"] = folder
        FILE.write_text(json.dumps(written(), indent=2) + "\n", "utf-8")
