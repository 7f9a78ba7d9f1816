import asyncio

from crewai import Agent, Crew, Task
from crewai.flow.flow import Flow, listen, start

agent = Agent(role="Clerk", goal="Know the tides", backstory="Ten years in", llm="gpt-4o-mini")
task = Task(description="When is high water?", expected_output="A time", agent=agent)
crew = Crew(agents=[agent], tasks=[task])


class Tides(Flow):
    @start()
    async def look(self):
        return crew.kickoff().raw

    @listen(look)
    async def tell(self, found):
        return f"{found} / {agent.kickoff('When?').raw}"


async def main():
    print(await Tides().kickoff_async())
    print(crew.kickoff().raw)
    print(Tides().kickoff())


asyncio.run(main())

# > high water at noon / high water at noon
# > high water at noon
# > high water at noon / high water at noon
