"""The functions, tools and models that the declarations of the tests name; their calls are recorded in a file or a list.

`python -m contrib.declared.declared_parts MODE FILE` runs the flow of a file; after the line that DIE names the process dies.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from crewgraph import ScriptedLLM
from crewgraph.flow import Flow, FlowPersistence
from crewgraph.tools import BaseTool, tool
from crewgraph.tools.failure import ToolFailure

__all__ = [
    "Asked", "Book", "Desk", "Harbor", "Tides", "Verdict", "broken", "desk", "dive", "happened", "log", "sounded",
    "verdict",
]  # fmt: skip

happened: list[str] = []


@tool
def broken() -> ToolFailure:
    """Never works."""
    return ToolFailure(message="no tide today")


def log(line: str) -> None:
    happened.append(line)
    if (path := os.environ.get("LEDGER")) is not None:
        with open(path, "a", encoding="utf-8") as ledger:
            ledger.write(f"{line}\n")
    if line == os.environ.get("DIE"):
        os.kill(os.getpid(), signal.SIGKILL)


class Harbor(BaseModel):
    """The state of a flow."""

    port: str
    depth: int = 4


class Verdict(BaseModel):
    good: bool


def verdict(flow: Any, said: str) -> Verdict:
    """Called with the result of the trigger, like a method."""
    log(f"verdict {said}")
    return Verdict(good=said.isupper())


def sounded(flow: Any, *, port: str, times: int = 1) -> str:
    """Called with keywords."""
    log(f"sounded {port}")
    return f"{port}: {times}"


async def dive(flow: Any, *, deep: int) -> int:
    """Awaited."""
    return deep * 2


class Tides(BaseTool):
    name: str = "tides"
    description: str = "Tells the tides."

    def _run(self, port: str, days: int = 1) -> str:
        log(f"tides {port}")
        return f"{port} has {days} tides"


class Desk:
    """Answers questions of flows."""

    def request_feedback(self, context: Any, flow: Any) -> str:
        return "yes" if "!" in context.method_output else "no"


class Asked:
    """Answers questions of `ask`."""

    def request_input(self, message: str, flow: Any, metadata: dict[str, Any] | None = None) -> str:
        return "yes"


class Book(FlowPersistence):
    """Stores states in a list."""

    saved = list[tuple[str, Any]]()

    def __init__(self, name: str = "book") -> None:
        self.name = name

    def init_db(self) -> None: ...

    def save_state(self, flow_uuid: str, method_name: str, state_data: Any) -> None:
        self.saved.append((f"{self.name} {method_name}", dict(state_data)))

    def load_state(self, flow_uuid: str) -> dict[str, Any] | None:
        return None


def answered(messages: Sequence[dict[str, Any]]) -> str:
    word = str(messages[-1]["content"]).partition("say ")[2].split("\n")[0]
    log(f"model {word}")
    return word.upper()


desk = ScriptedLLM(answered)


def main() -> None:
    mode, path = sys.argv[1:]
    flow = Flow.from_declaration(path=path)
    print(flow.kickoff(id="trip") if mode == "sync" else asyncio.run(flow.akickoff(id="trip")))


if __name__ == "__main__":
    main()
