"""A tool that is a coroutine function."""

import asyncio

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("slow_lookup")
async def slow_lookup(key: str) -> str:
    """Looks a key up, slowly."""
    await asyncio.sleep(0.01)
    return f"VALUE-1 of {key}"


clerk = Agent(role="Clerk", goal="Look up", backstory="Looks.", tools=[slow_lookup])
task = Task(description="Look it up DESC-1", expected_output="A value", agent=clerk)
result = Crew(agents=[clerk], tasks=[task]).kickoff()
print(result.raw)

script = {"DESC-1": [{"tool": ["slow_lookup", {"key": "tide"}]}, "It is ANSWER-1"]}
