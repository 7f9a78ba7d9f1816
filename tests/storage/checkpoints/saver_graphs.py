"""Graphs that the tests of the checkpointer run."""

import asyncio
import operator
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from modes import graph_of

Graph = Any  # a compiled graph: strict types of LangGraph's overloads would drown the tests
State = dict[str, Any]
Mode = Literal["sync", "async"]
MODES: tuple[Mode, ...] = ("sync", "async")


def on(thread: str, **more: Any) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, **more}, "recursion_limit": 10_000}


def run(graph: Graph, value: Any, config: RunnableConfig, mode: Mode = "sync") -> Any:
    if mode == "sync":
        return graph.invoke(value, config, durability="sync")
    return asyncio.run(graph.ainvoke(value, config, durability="sync"))


def chain(n: int, saver: BaseCheckpointSaver[Any], text: str = "x" * 300) -> Graph:
    """A chain of n nodes, each with its own channel, like a crew."""
    state: Any = TypedDict("state", {"inputs": str, **{f"t{i}": str for i in range(n)}}, total=False)  # type: ignore[misc]
    builder: Any = StateGraph(state)
    for i in range(n):
        builder.add_node(f"n{i}", _writes(f"t{i}", f"{i} {text}"))
        builder.add_edge(f"n{i - 1}" if i else START, f"n{i}")
    return builder.compile(checkpointer=saver)


def _writes(channel: str, text: str) -> Callable[[State], State]:
    def node(state: State) -> State:
        return {channel: text}

    return node


class Looped(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    count: int
    answer: str


def looped(saver: BaseCheckpointSaver[Any]) -> Graph:
    """A fan-out, a join, a loop of three rounds, a subgraph and a question."""

    def left(state: State) -> State:
        return {"log": [f"left {state['count']}"]}

    def right(state: State) -> State:
        return {"log": [f"right {state['count']}"]}

    def join(state: State) -> State:
        return {"count": state["count"] + 1}

    def again(state: State) -> list[str]:
        return ["left", "right"] if state["count"] < 3 else ["inner"]

    def ask(state: State) -> State:
        return {"answer": interrupt(f"after {state['count']} rounds?")}

    def deep(state: State) -> State:
        return {"log": ["deep"]}

    builder: Any = StateGraph(Looped)
    for name, node in {"left": left, "right": right, "join": join, "ask": ask}.items():
        builder.add_node(name, node)
    builder.add_node("inner", graph_of(Looped, {"deep": deep}))
    builder.add_edge(START, "left")
    builder.add_edge(START, "right")
    builder.add_edge(["left", "right"], "join")
    builder.add_conditional_edges("join", again, ["left", "right", "inner"])
    builder.add_edge("inner", "ask")
    builder.add_edge("ask", END)
    return builder.compile(checkpointer=saver)


def describe(graph: Graph, config: RunnableConfig) -> list[Any]:
    """Return a thread's history without the parts that differ between runs."""
    history: list[Any] = list(graph.get_state_history(config))
    order = {str(s.config["configurable"]["checkpoint_id"]): len(history) - i for i, s in enumerate(history)}
    return [
        (
            order[s.config["configurable"]["checkpoint_id"]],
            order.get(s.parent_config["configurable"]["checkpoint_id"]) if s.parent_config else None,
            s.values,
            s.next,
            s.metadata["source"],
            s.metadata["step"],
            [(t.name, t.result, [i.value for i in t.interrupts]) for t in s.tasks],
        )
        for s in history
    ]
