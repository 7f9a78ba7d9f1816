from crewai import Agent, Crew, Process, Task

agent = Agent(role="Clerk", goal="Know the tides", backstory="Ten years in", llm="gpt-4o-mini")
task = Task(description="When is high water?", expected_output="A time", agent=agent)
for process in ("sequential", Process("sequential"), Process.sequential):
    print(Crew(agents=[agent], tasks=[task], process=process).kickoff().raw)

# > high water at noon
# > high water at noon
# > high water at noon
