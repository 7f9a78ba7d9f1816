"""`verbose=2`, as crews were written in 2024."""

from crewai import Agent, Crew, Task

agent = Agent(role="Clerk", goal="Know the tides", backstory="Ten years in.")
task = Task(description="When is high water? DESC-1", expected_output="A time", agent=agent)
result = Crew(agents=[agent], tasks=[task], verbose=2).kickoff()
print(result.raw)

script = {"DESC-1": ["OUT-1"]}
