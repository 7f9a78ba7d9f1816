"""A crew of one agent with a tool, for the tests of hooks."""

import json
from typing import Any

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.tools import BaseTool

__all__ = ["TideTable", "act", "crew_of", "fin"]


def act(name: str, **args: Any) -> str:
    return f"Thought: look\nAction: {name}\nAction Input: {json.dumps(args)}"


def fin(text: str) -> str:
    return f"Thought: done\nFinal Answer: {text}"


class TideTable(BaseTool):
    name: str = "Tide table"
    description: str = "High tide of a harbour."
    looked_up: list[str] = []

    def _run(self, harbour: str) -> str:
        self.looked_up.append(harbour)
        return f"06:12 in {harbour}"


def crew_of(llm: ScriptedLLM, *tools: Any, **crew: Any) -> Crew:
    pilot = Agent(role="Pilot", goal="Bring ships in", backstory="At sea.", llm=llm, tools=list(tools))
    ask = Task(name="ask", description="When is high tide?", expected_output="A time", agent=pilot)
    return Crew(agents=[pilot], tasks=[ask], **crew)
