"""An agent by itself, awaited."""

import asyncio

from crewai import Agent

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
result = asyncio.run(agent.kickoff_async("Say DESC-1"))
print(result.raw)

script = {"DESC-1": ["OUT-1"]}
