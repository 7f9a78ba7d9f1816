"""A looping flow that keeps only its latest checkpoint, in a process that may kill itself while it removes others:
`python -m flow.killed_loop MODE ROUNDS POINT`.

Every round and every model request leaves a line in the file that LEDGER names. POINT is the number of the
removed row at which the process dies; 0 for none. At the end the result is printed.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.flow import Flow, listen, router, start
from crewgraph.storage.checkpoints import SqliteCheckpointer

__all__ = ["Rounds"]


def record_line(line: str) -> None:
    with open(os.environ["LEDGER"], "a", encoding="utf-8") as ledger:
        ledger.write(f"{line}\n")


def answer(messages: Sequence[dict[str, Any]]) -> str:
    word = str(messages[-1]["content"]).partition("say ")[2].split("\n")[0]
    record_line(f"model {word}")
    return word


class Rounds(Flow[dict[str, Any]]):
    max_method_calls = 10**6
    keep_history = "latest"

    @start("again")
    def step(self) -> str:
        number = self.state["n"] = self.state.get("n", 0) + 1
        record_line(f"step {number}")
        if number % 5:
            return "nothing"
        sailor = Agent(role="sailor", goal="g", backstory="b", llm=ScriptedLLM(answer))
        task = Task(name="word", description=f"say {number}", expected_output="a word", agent=sailor)
        return Crew(agents=[sailor], tasks=[task]).kickoff().raw

    @router(step)
    def enough(self) -> str:
        return "again" if self.state["n"] < int(sys.argv[2]) else "done"

    @listen("done")
    def end(self) -> int:
        return self.state["n"]


def killed_at(saver: SqliteCheckpointer, point: int) -> None:
    removed = 0

    def traced(statement: str) -> None:
        nonlocal removed
        if statement.startswith("DELETE FROM"):
            removed += 1
            if removed == point:
                os.kill(os.getpid(), signal.SIGKILL)

    connection: Any = saver._database._connection  # pyright: ignore[reportPrivateUsage]
    connection.set_trace_callback(traced)


def main() -> None:
    with SqliteCheckpointer(os.environ["RUNS"]) as saver:
        killed_at(saver, int(sys.argv[3]))
        flow = Rounds(checkpointer=saver)
        given = flow.kickoff(id="rounds") if sys.argv[1] == "sync" else asyncio.run(flow.akickoff(id="rounds"))
        print(given, list(saver.threads()), len(list(saver.list(None))))


if __name__ == "__main__":
    main()
