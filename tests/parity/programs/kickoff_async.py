"""kickoff_async in asyncio.run."""

import asyncio

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="On {topic} DESC-1", expected_output="Text", agent=agent)
crew = Crew(agents=[agent], tasks=[task])


async def main():
    return await crew.kickoff_async(inputs={"topic": "TOPIC-1"})


result = asyncio.run(main())
print(result.raw)

script = {"DESC-1": ["OUT-1"]}
