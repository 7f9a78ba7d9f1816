"""A crew that is awaited in a method."""

import asyncio

from crewai import Agent, Crew, Task
from crewai.flow.flow import Flow, listen, start


class F(Flow):
    @start()
    async def write(self):
        agent = Agent(role="Writer", goal="Write", backstory="Writes.")
        task = Task(description="Write WRITE-1", expected_output="Text", agent=agent)
        made = await Crew(agents=[agent], tasks=[task]).kickoff_async()
        return made.raw

    @listen(write)
    def finish(self, text):
        return f"{text} finished"


async def main():
    return await F().kickoff_async()


result = asyncio.run(main())
print(result)

script = {"WRITE-1": ["POST-1"]}
