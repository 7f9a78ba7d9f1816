"""Crew(memory=True) in kickoff_async, twice."""

import asyncio

from crewai import Agent, Crew, Task

clerk = Agent(role="Clerk", goal="Know the tides", backstory="Careful.")
task = Task(description="Tell about the tide of Brest DESC-1", expected_output="A sentence", agent=clerk)
crew = Crew(agents=[clerk], tasks=[task], memory=True)


async def main():
    first = await crew.kickoff_async()
    again = await crew.kickoff_async()
    return [first, again]


results = asyncio.run(main())
print([one.raw for one in results])

script = {"DESC-1": ["OUT-1 the tide of Brest is six", "OUT-2 the tide of Brest is six"]}
remembered = {"DESC-1": {"suggestions": ["HINT-1"], "quality": 8, "memories": ["FACT-1 the tide of Brest is six"]}}
