"""A flow that is killed: parallel methods, a crew inside one of them, and a router that repeats it twice."""

import asyncio
from collections.abc import Sequence
from typing import Any

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.flow import Flow, and_, listen, router, start
from kills.ledger import Ledger

__all__ = ["VOYAGE", "voyage_of"]

VOYAGE = "home after 2 days with wave and gull"


class Voyage(Flow[dict[str, Any]]):
    """The effects: one with the name of each method, and of each task of the crew."""

    ledger: Ledger

    @start()
    def leave(self) -> None:
        self.ledger.effect("leave")
        self.state["days"] = 0

    @listen(leave)
    def sail(self) -> None:
        self.ledger.effect("sail")
        self.state["seen"] = [output.raw for output in self.crew().kickoff().tasks_output]

    @listen(leave)
    async def swim(self) -> None:
        await asyncio.sleep(0.01)
        self.ledger.effect("swim")

    @listen(leave)
    def watch(self) -> None:
        self.ledger.effect("watch")

    @router(and_(sail, swim, watch))
    def rest(self) -> str:
        self.ledger.effect("rest")
        return "again"

    @listen("again")
    def go_on(self) -> None:
        self.ledger.effect(f"go_on-{self.state['days']}")
        self.state["days"] = self.state["days"] + 1

    @router(go_on)
    def judge(self) -> str:
        self.ledger.effect(f"judge-{self.state['days']}")
        return "again" if self.state["days"] < 2 else "home"

    @listen("home")
    def arrive(self) -> str:
        self.ledger.effect("arrive")
        return f"home after {self.state['days']} days with {' and '.join(self.state['seen'])}"

    def crew(self) -> Crew:
        """Two tasks for one sailor."""

        def word(messages: Sequence[dict[str, Any]]) -> str:
            said = str(messages[-1]["content"]).partition("say ")[2].split("\n")[0]
            self.ledger.effect(f"sail/{said}")
            return said

        sailor = Agent(role="sailor", goal="g", backstory="b", llm=ScriptedLLM(word))
        words = ("wave", "gull")
        tasks = [Task(name=one, description=f"say {one}", expected_output="a word", agent=sailor) for one in words]
        return Crew(agents=[sailor], tasks=tasks)


def voyage_of(ledger: Ledger, checkpointer: Any) -> Voyage:
    """The flow."""
    flow = Voyage(checkpointer=checkpointer)
    flow.ledger = ledger
    return flow
