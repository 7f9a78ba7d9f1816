"""A flow with crews and a flow inside, in a process that may kill itself: `python -m flow.killed MODE ID POINT`.

Every model request and every method leaves a line in the file that LEDGER names; POINT is the line after which the process
dies. At the end the result is printed.
"""

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.flow import Flow, and_, listen, persist, start

__all__ = ["Course", "Journey"]


noting = threading.Lock()


def record_line(line: str) -> None:
    with noting:
        with open(os.environ["LEDGER"], "a", encoding="utf-8") as ledger:
            ledger.write(f"{line}\n")
        if line == sys.argv[3]:
            # Parallel work completes, or reaches its next step, and starts nothing that would be cut off.
            time.sleep(0.6)
            os.kill(os.getpid(), signal.SIGKILL)


def answer(messages: Sequence[dict[str, Any]]) -> str:
    word = str(messages[-1]["content"]).partition("say ")[2].split("\n")[0]
    record_line(f"model {word}")
    return word


def crew(*words: str) -> Crew:
    sailor = Agent(role="sailor", goal="g", backstory="b", llm=ScriptedLLM(answer))
    tasks = [Task(name=word, description=f"say {word}", expected_output="a word", agent=sailor) for word in words]
    return Crew(agents=[sailor], tasks=tasks)


class Landing(Flow[dict[str, Any]]):
    @start()
    def land(self) -> str:
        record_line("land")
        return crew("rope", "anchor").kickoff().raw

    @listen(land)
    def walk(self, word: str) -> str:
        record_line("walk")
        return f"{word}!"


@persist
class Journey(Flow[dict[str, Any]]):
    @start()
    def leave(self) -> str:
        record_line("leave")
        self.state["seen"] = ["port"]
        return "port"

    @listen(leave)
    def sail(self) -> str:
        record_line("sail")
        reported = crew("wind", "wave", "gull").kickoff().raw
        lone = Agent(role="lone", goal="g", backstory="b", llm=ScriptedLLM(answer)).kickoff("say alone").raw
        self.state["sailed"] = True
        return f"{reported} {lone}"

    @listen(leave)
    async def swim(self) -> list[str]:
        record_line("swim")
        await asyncio.sleep(0.05)
        return [one.raw for one in await crew("fish").kickoff_for_each_async([{"n": 1}, {"n": 2}])]

    @listen(and_(sail, swim))
    def arrive(self) -> str:
        record_line("arrive")
        self.state["seen"] = [*self.state["seen"], "coast"]
        return f"{Landing().kickoff()} {self.state['seen']} {self.state['sailed']}"


@persist
class Course(Journey):
    """A flow whose methods run in turn, so that the last one before the kill is known."""

    @listen(Journey.swim)
    def sail(self) -> str:
        return super().sail()


def main(journey: type[Journey] = Journey) -> None:
    mode, flow_id, _ = sys.argv[1:]
    flow = journey()
    given = flow.kickoff(id=flow_id) if mode == "sync" else asyncio.run(flow.akickoff(id=flow_id))
    print(given)


if __name__ == "__main__":
    main()
