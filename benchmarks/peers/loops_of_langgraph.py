"""A looping graph of two nodes, stored in SQLite with LangGraph's own saver."""

import sqlite3
import sys
import time
from pathlib import Path
from typing import Any, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from benchmarks.peers.clock import printed
from benchmarks.peers.database import taken

FILE = Path("loop.db")


class State(TypedDict):
    n: int


def main(rounds: str) -> dict[str, float]:
    figures: dict[str, float] = {}

    def step(state: State) -> State:
        return {"n": state["n"] + 1}

    def enough(state: State) -> dict[str, Any]:
        if state["n"] == int(rounds):
            figures.update(taken(FILE))
        return {}

    graph: Any = StateGraph(State)
    graph.add_node("step", step)
    graph.add_node("enough", enough)
    graph.add_edge(START, "step")
    graph.add_edge("step", "enough")
    graph.add_conditional_edges("enough", lambda state: "step" if state["n"] < int(rounds) else END, ["step", END])
    connection = sqlite3.connect(FILE, check_same_thread=False)
    saver = SqliteSaver(connection)
    saver.setup()
    connection.execute("PRAGMA synchronous=NORMAL")
    config = {"recursion_limit": 10**6, "configurable": {"thread_id": "t"}}
    before = time.process_time()
    made = graph.compile(checkpointer=saver).invoke({"n": 0}, config, durability="sync")
    assert made["n"] == int(rounds)
    return {**figures, "cpu": 1000 * (time.process_time() - before) / int(rounds)}


if __name__ == "__main__":
    printed(main(*sys.argv[1:]))
