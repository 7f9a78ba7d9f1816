"""An output that is taken for a text."""

from crewai import Agent, Crew, Task

agent = Agent(role="Clerk", goal="Know the tides", backstory="Ten years in.")
task = Task(description="When is high water? DESC-1", expected_output="A time", agent=agent)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print("Result: " + result)

script = {"DESC-1": ["OUT-1"]}
