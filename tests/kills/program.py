"""The program that is killed: a crew whose every effect leaves a line in a file outside of any checkpoint.

`E name` is written when an effect happens, `R key` once its record is stored, `C` once a checkpoint is. A case names the
point at which the process kills itself with SIGKILL.
"""

import asyncio
import json
import os
import signal
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph

from crewgraph import Agent, Crew, ScriptedLLM, Task, TaskOutput, ToolUse
from crewgraph.checkpoints import SqliteCheckpointer
from crewgraph.core.journal import CHANNEL
from crewgraph.tools import tool

__all__ = ["Case", "play"]


@dataclass(frozen=True)
class Case:
    """One way to run the program, and where it is to die."""

    mode: str
    """sync or async."""

    shape: str
    """root (kickoff), or foreign (a node of somebody's graph)."""

    granularity: str
    """task or step."""

    durability: str
    """Of the foreign graph: sync or async."""

    saver: str
    """sqlite or postgres."""

    where: str
    """The database: a path, or a connection string."""

    thread: str
    ledger: str
    """The file of lines."""

    kill: str = ""
    """The line before or after which to die: "before E tool-0", "after R 3", "before C 2"; empty lives."""


class Ledger:
    """Writes lines to the file outside, and dies where it is told to."""

    def __init__(self, path: str, kill: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._kill = kill
        self._counts = {"R": 0, "C": 0}
        self._lock = threading.Lock()

    def effect(self, name: str) -> None:
        self._die(f"before E {name}")
        os.write(self._file, f"E {name}\n".encode())
        self._die(f"after E {name}")

    def stored(self, kind: str) -> "Stored":
        with self._lock:
            self._counts[kind] += 1
            return Stored(self, f"{kind} {self._counts[kind]}")

    def line(self, text: str) -> None:
        os.write(self._file, f"{text}\n".encode())

    def _die(self, point: str) -> None:
        if point == self._kill:
            os.kill(os.getpid(), signal.SIGKILL)

    die = _die


@dataclass(frozen=True)
class Stored:
    """A store of something: dies before or after it."""

    ledger: Ledger
    name: str

    def __enter__(self) -> None:
        self.ledger.die(f"before {self.name}")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:  # else the checkpointer would have to wait for another writer, and tries again in a thread
            self.ledger.line(self.name)
            self.ledger.die(f"after {self.name}")


def watched(saver: type[Any], ledger: Ledger) -> type[Any]:
    """A checkpointer's class that tells the ledger what it stores."""

    parent: Any = saver

    class Watched(parent):
        def put(self, *args: Any) -> Any:
            with ledger.stored("C"):
                return super().put(*args)  # pyright: ignore[reportUnknownVariableType]

        def put_writes(self, config: Any, writes: Sequence[tuple[str, Any]], *args: Any, **named: Any) -> None:
            if not writes or writes[0][0] != CHANNEL:
                super().put_writes(config, writes, *args, **named)
                return
            with ledger.stored("R"):
                super().put_writes(config, writes, *args, **named)

    return Watched


def crew_of(ledger: Ledger, checkpointer: Any) -> Crew:
    """Three tasks: tools in parallel, a guardrail that refuses once, a structured end, callbacks."""

    @tool
    def look(i: int) -> str:
        """Look at something."""
        ledger.effect(f"look-{i}")
        return f"<saw {i}>"

    def model(name: str, replies: Sequence[Any]) -> ScriptedLLM:
        def reply(messages: Sequence[dict[str, Any]]) -> Any:
            # Stateless: which reply it is follows from the conversation, in a new process as well.
            said = sum(message["role"] == "assistant" for message in messages)
            again = "was refused" in str(messages[-1]["content"]) or "was refused" in str(messages[1]["content"])
            index = min(said + (1 if again and len(replies) > 1 else 0), len(replies) - 1)
            ledger.effect(f"{name}-{index}")
            return replies[index]

        return ScriptedLLM(reply, native_tools=True)

    def refuses_once(output: TaskOutput) -> tuple[bool, str]:
        ledger.effect(f"guard-{output.raw}")
        return ("good" in output.raw, output.raw if "good" in output.raw else "say good")

    def called(output: TaskOutput) -> None:
        ledger.effect(f"callback-{output.name}")

    def agent(name: str, replies: Sequence[Any], **more: Any) -> Agent:
        return Agent(role=name, goal="g", backstory="b", llm=model(name, replies), **more)

    looks = [ToolUse("look", {"i": i}) for i in range(3)]
    a = agent("a", [looks, "seen"], tools=[look])
    b = agent("b", ["bad", "good"])
    c = agent("c", [ToolUse("look", {"i": 9}), "end"], tools=[look])
    tasks = [
        Task(name="first", description="x", expected_output="y", agent=a, callback=called),
        Task(name="second", description="x", expected_output="y", agent=b, guardrail=refuses_once, context=[]),
        Task(name="third", description="x", expected_output="y", agent=c, callback=called),
    ]
    return Crew(agents=[a, b, c], tasks=tasks, checkpointer=checkpointer)


class Outer(TypedDict, total=False):
    inputs: dict[str, Any]
    first: dict[str, Any]
    second: dict[str, Any]
    third: dict[str, Any]


def play(case: Case) -> str:
    """Run the program, or continue it where an earlier process died; returns the tasks' texts as JSON."""
    ledger = Ledger(case.ledger, case.kill)
    if case.saver == "postgres":
        return _on_postgres(case, ledger)
    with watched(SqliteCheckpointer, ledger)(case.where) as saver:
        return _texts(case, ledger, saver)


def _on_postgres(case: Case, ledger: Ledger) -> str:
    from langgraph.checkpoint.postgres import PostgresSaver

    with watched(PostgresSaver, ledger).from_conn_string(case.where) as saver:
        return _texts(case, ledger, saver)


def _texts(case: Case, ledger: Ledger, saver: "BaseCheckpointSaver[Any]") -> str:
    config: Any = {"configurable": {"thread_id": case.thread}}
    began = saver.get_tuple(config) is not None
    if case.shape == "root":
        crew = crew_of(ledger, saver)
        fresh: dict[str, Any] = {"thread_id": case.thread, "granularity": case.granularity}
        if case.mode == "sync":
            result = crew.resume(case.thread) if began else crew.kickoff({"x": 1}, **fresh)
        else:
            work = crew.aresume(case.thread) if began else crew.akickoff({"x": 1}, **fresh)
            result = asyncio.run(work)
        return json.dumps([output.raw for output in result.tasks_output])
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(Outer)
    graph.add_node("crew", crew_of(ledger, None).compile(granularity=case.granularity))
    graph.add_edge(START, "crew")
    graph.add_edge("crew", END)
    compiled: Any = graph.compile(checkpointer=saver)
    given = None if began else {"inputs": {"x": 1}}
    options: Any = {"durability": case.durability}
    if case.mode == "sync":
        state = compiled.invoke(given, config, **options)
    else:
        state = asyncio.run(compiled.ainvoke(given, config, **options))
    return json.dumps([state[name]["raw"] for name in ("first", "second", "third")])
