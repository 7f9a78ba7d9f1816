"""The programs that are killed, a crew and a flow: every effect leaves a line in a file outside of any checkpoint.

`E name` is written when an effect happens, `R key` once its record is stored, `C` once a checkpoint is; and `I name` for
every method that is in flight when the run of a flow goes on. A case names the point at which the process kills itself with
SIGKILL.
"""

import asyncio
import json
import os
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command
from wrapping import wrap_stream_methods

from crewgraph import Agent, Crew, CrewOutput, PendingCrew, ScriptedLLM, Task, TaskOutput, ToolUse
from crewgraph.core.journal import CHANNEL
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.tools import tool
from kills.flow_program import voyage_of
from kills.ledger import Ledger

__all__ = ["Case", "run_case"]


@dataclass(frozen=True)
class Case:
    """A case: how to run the program, and where it dies."""

    mode: str
    """sync or async."""

    shape: str
    """root (kickoff), or foreign (a node of another graph)."""

    granularity: str
    """Of a crew task or step, of a flow method."""

    durability: str
    """Of the foreign graph: sync or async."""

    saver: str
    """sqlite or postgres."""

    where: str
    """The database: a path, or a connection string."""

    thread: str
    ledger: str
    """The file of lines."""

    @property
    def is_flow(self) -> bool:
        """Whether it is the flow that runs."""
        return self.granularity == "method"

    kill: str = ""
    """The line before or after which to die: "before E tool-0", "after R 3", "before C 2"; empty lives."""


def watched(saver: type[Any], ledger: Ledger) -> type[Any]:
    """Return a subclass of a checkpointer that writes what it stores to the ledger."""

    parent: Any = saver

    class Watched(parent):
        def put(self, *args: Any) -> Any:
            with ledger.stored("C"):
                return super().put(*args)  # pyright: ignore[reportUnknownVariableType]

        def put_writes(self, config: Any, writes: Sequence[tuple[str, Any]], *args: Any, **named: Any) -> None:
            # That something begins, or is asked, is noted with a "?": it is no record of an effect. Nor are the arguments that a
            # person is to approve.
            value: Any = writes[0][1].get("value") if writes and writes[0][0] == CHANNEL else None
            is_arguments = isinstance(value, dict) and "given" in value
            if not writes or writes[0][0] != CHANNEL or str(args[0]).endswith("?") or is_arguments:
                super().put_writes(config, writes, *args, **named)
                return
            with ledger.stored("R"):
                super().put_writes(config, writes, *args, **named)

    return Watched


def crew_of(ledger: Ledger, checkpointer: Any) -> Crew:
    """Four tasks: parallel tools, a guardrail that rejects once, parallel delegation, human input, callbacks."""

    @tool
    def look(i: int) -> str:
        """Look at something."""
        ledger.effect(f"look-{i}")
        return f"<saw {i}>"

    @tool(require_approval=True)
    def pay(to: str) -> str:
        """Pay a person."""
        ledger.effect(f"pay-{to}")
        return "paid"

    def model(name: str, replies: Sequence[Any]) -> ScriptedLLM:
        def reply(messages: Sequence[dict[str, Any]]) -> Any:
            # Stateless: the reply depends only on the conversation, also in a new process.
            said = sum(message["role"] == "assistant" for message in messages)
            again = "was rejected" in str(messages[-1]["content"]) or "was rejected" in str(messages[1]["content"])
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
    asks = [
        ToolUse("Delegate work to coworker", {"task": "find", "context": "x", "coworker": "d"}),
        ToolUse("Ask question to coworker", {"question": "which", "context": "x", "coworker": "e"}),
    ]
    c = agent("c", [asks, ToolUse("look", {"i": 9}), "end"], tools=[look], allow_delegation=True)
    d = agent("d", [ToolUse("look", {"i": 5}), "found"], tools=[look])
    e = agent("e", ["this one"])
    f = agent("f", [ToolUse("pay", {"to": "g"}), "rough", "fine"], tools=[pay], cache=False)
    tasks = [
        Task(name="first", description="x", expected_output="y", agent=a, callback=called),
        Task(name="second", description="x", expected_output="y", agent=b, guardrail=refuses_once, context=[]),
        Task(name="third", description="x", expected_output="y", agent=c, callback=called),
        Task(name="fourth", description="x", expected_output="y", agent=f, human_input=True),
    ]
    return Crew(agents=[a, b, c, d, e, f], tasks=tasks, checkpointer=checkpointer)


class Outer(TypedDict, total=False):
    inputs: dict[str, Any]
    state: dict[str, Any]
    output: Any
    first: dict[str, Any]
    second: dict[str, Any]
    third: dict[str, Any]
    fourth: dict[str, Any]


def run_case(case: Case) -> str:
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
    if case.is_flow:
        return _voyage(case, ledger, saver, began)
    if case.shape == "root":
        crew = crew_of(ledger, saver)
        fresh: dict[str, Any] = {"thread_id": case.thread, "granularity": case.granularity}
        if case.mode == "sync":
            result = crew.resume(case.thread) if began else crew.kickoff({"x": 1}, **fresh)
        else:
            work = crew.aresume(case.thread) if began else crew.akickoff({"x": 1}, **fresh)
            result = asyncio.run(work)
        while isinstance(result, PendingCrew):
            (question,) = result.questions
            said = _said(ledger, question.answer)
            answered = crew.resume if case.mode == "sync" else crew.aresume
            result = answered(case.thread, said)
            result = result if isinstance(result, CrewOutput) else asyncio.run(result)
        return json.dumps([output.raw for output in result.tasks_output])
    around = _around(crew_of(ledger, None).compile(granularity=case.granularity), saver)
    state = _invoked(case, around, None if began else {"inputs": {"x": 1}})
    while asked := state.get("__interrupt__"):
        said = _said(ledger, asked[0].value.get("answer"))
        state = _invoked(case, around, Command(resume={asked[0].id: said}))
    return json.dumps([state[name]["raw"] for name in ("first", "second", "third", "fourth")])


def _said(ledger: Ledger, answer: str | None) -> Any:
    """Return a person's reply to an answer or to a tool approval."""
    ledger.effect(f"said-{answer}")
    return {None: True, "rough": "finer", "fine": ""}[answer]


def _voyage(case: Case, ledger: Ledger, saver: "BaseCheckpointSaver[Any]", began: bool) -> str:
    config: Any = {"configurable": {"thread_id": case.thread}}
    warnings.filterwarnings("ignore", "no run of flow")
    if case.shape == "root":
        flow = voyage_of(ledger, saver)
        _tell_in_flight(ledger, flow.compile(checkpointer=saver).get_state(config).values)
        if case.mode == "sync":
            return flow.resume(case.thread) if began else flow.kickoff(id=case.thread)
        return asyncio.run(flow.aresume(case.thread) if began else flow.akickoff(id=case.thread))
    around = _around(voyage_of(ledger, None).compile(), saver)
    if began:
        for task in around.get_state(config, subgraphs=True).tasks:
            _tell_in_flight(ledger, getattr(task.state, "values", {}))
    return _invoked(case, around, None if began else {"inputs": {}})["output"]


def _tell_in_flight(ledger: Ledger, values: dict[str, Any]) -> None:
    progress: dict[str, Any] = values.get("progress") or {"inflight": {}}
    for one in progress["inflight"].values():
        ledger.line(f"I {one['method']}")


def _around(inner: Any, saver: "BaseCheckpointSaver[Any]") -> Any:
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(Outer)
    graph.add_node("inner", inner)
    graph.add_edge(START, "inner")
    graph.add_edge("inner", END)
    return graph.compile(checkpointer=saver)


def _invoked(case: Case, graph: Any, given: Any) -> Any:
    config: Any = {"configurable": {"thread_id": case.thread}}
    options: Any = {"durability": case.durability}
    if case.mode == "sync":
        return graph.invoke(given, config, **options)
    return asyncio.run(graph.ainvoke(given, config, **options))


if __name__ == "__main__":
    if os.environ.get("KILLS_INLINE") == "0":  # as where instrumentation wraps LangGraph's methods: its own loop saves
        wrap_stream_methods(setattr)
    sys.stdout.write(run_case(Case(**json.loads(sys.argv[1]))))
