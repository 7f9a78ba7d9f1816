"""A crew, a flow or an agent in a process that kills itself: `python -m contrib.snapshots.killed WHAT run|restore PLACE`.

Every request to a model and every use of the tool leaves a line in the file `ledger` of the place.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from crewgraph import Agent, BaseLLM, CheckpointConfig, Crew, Task
from crewgraph.contrib.snapshots import SqliteProvider
from crewgraph.flow import Flow, listen, start
from crewgraph.tools import tool

__all__ = ["Depth", "Model", "Walk", "look"]

PLACE = Path(os.environ.get("PLACE", "."))


def record_line(line: str) -> None:
    with (PLACE / "ledger").open("a", encoding="utf-8") as ledger:
        ledger.write(f"{line}\n")


class Model(BaseLLM):
    """Calls the tool before answering the second task, and may kill the process after the call."""

    def call(self, messages: Any, *_: Any, **__: Any) -> str:
        said = str(messages)
        looked = "it is high" in said
        record_line(f"model {'second' if 'SECOND' in said else 'first'}{' looked' if looked else ''}")
        if looked and os.environ.get("KILLED"):
            os.kill(os.getpid(), signal.SIGKILL)
        if "SECOND" in said and not looked:
            return 'Thought: a look\nAction: look\nAction Input: {"what": "sea"}'
        return '{"metres": 3}' if "metres" in said else "Final Answer: high"


@tool
def look(what: str) -> str:
    """Look at something."""
    record_line(f"tool {what}")
    return "it is high"


class Depth(BaseModel):
    metres: int


class Walk(Flow[Any]):
    """Three methods; the last may kill the process."""

    @start()
    def up(self) -> int:
        record_line("up")
        return 1

    @listen(up)
    def down(self, before: int) -> int:
        record_line("down")
        return before + 1

    @listen(down)
    def home(self, before: int) -> int:
        record_line("home")
        if os.environ.get("KILLED"):
            os.kill(os.getpid(), signal.SIGKILL)
        return before + 1


def crew() -> Crew:
    clerk = Agent(role="Clerk of {what}", goal="Know the tides", backstory="b", llm=Model(model="m"), tools=[look])
    first = Task(name="first", description="FIRST {what}", expected_output="A word", agent=clerk)
    second = Task(name="second", description="SECOND", expected_output="A word", agent=clerk, context=[first])
    return Crew(name="desk", agents=[clerk], tasks=[first, second], checkpoint=True)


def config(what: str) -> CheckpointConfig:
    if what == "agent":
        return CheckpointConfig(provider=SqliteProvider(), on_events=["llm_call_completed"], max_checkpoints=1)
    return CheckpointConfig(on_events=["method_execution_finished"])


def started(what: str) -> Any:
    if what == "crew":
        return crew()
    if what == "agent":
        return Agent(
            role="Clerk", goal="g", backstory="b", llm=Model(model="m"), tools=[look], checkpoint=config("agent")
        )
    return Walk(checkpoint=config("flow"))


def restored(what: str) -> Any:
    if what == "crew":
        return Crew.from_checkpoint(CheckpointConfig())
    return Agent.from_checkpoint(config("agent")) if what == "agent" else Walk.from_checkpoint(config("flow"))


def main() -> None:
    what, method_name = sys.argv[1:3]
    os.chdir(PLACE)
    made = started(what) if method_name == "run" else restored(what)
    given: list[Any] = (
        ["SECOND"] if what == "agent" else [{"what": "tides"}] if method_name == "run" and what == "crew" else []
    )
    done = asyncio.run(made.akickoff(*given)) if os.environ.get("ASYNC") else made.kickoff(*given)
    print(getattr(done, "raw", done))


if __name__ == "__main__":
    # Under its own name, by which a checkpoint finds what is defined here.
    from contrib.snapshots import killed

    killed.main()
