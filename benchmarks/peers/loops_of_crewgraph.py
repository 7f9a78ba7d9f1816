"""A looping flow, stored in SQLite."""

import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.peers.clock import printed
from benchmarks.peers.database import taken
from crewgraph.flow import Flow, listen, persist, router, start
from crewgraph.storage.checkpoints import SqliteCheckpointer

FILE = Path("loop.db")


@persist
class Loop(Flow[dict[str, Any]]):
    max_method_calls = 10**6
    figures: dict[str, float]

    @start("again")
    def step(self) -> None:
        self.state["n"] += 1

    @router(step)
    def enough(self) -> str:
        if self.state["n"] < self.state["rounds"]:
            return "again"
        self.figures = taken(FILE)
        return "done"

    @listen("done")
    def end(self) -> int:
        return self.state["n"]


def main(keep: Any, rounds: str) -> dict[str, float]:
    with SqliteCheckpointer(FILE) as saver:
        flow = Loop(checkpointer=saver, keep_history=keep, n=0, rounds=int(rounds))
        before = time.process_time()
        assert flow.kickoff() == int(rounds)
        return {**flow.figures, "cpu": 1000 * (time.process_time() - before) / int(rounds)}


if __name__ == "__main__":
    printed(main(*sys.argv[1:]))
