"""Several crews kicked off together with asyncio.gather."""

import asyncio

from crewai import Agent, Crew, Task


def made(number):
    agent = Agent(role="Writer", goal="Write", backstory="Writes.")
    task = Task(description=f"On DESC-{number}", expected_output="Text", agent=agent)
    return Crew(agents=[agent], tasks=[task])


async def main():
    return await asyncio.gather(*(made(number).kickoff_async() for number in (1, 2, 3)))


results = asyncio.run(main())
print([one.raw for one in results])

parallel = True
script = {"DESC-1": ["OUT-1"], "DESC-2": ["OUT-2"], "DESC-3": ["OUT-3"]}
