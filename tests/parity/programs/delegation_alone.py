"""allow_delegation of an agent that has no coworkers."""

from crewai import Agent, Crew, Task

writer = Agent(role="Writer", goal="Write", backstory="Writes.", allow_delegation=True)
task = Task(description="Write DESC-1", expected_output="Text", agent=writer)
result = Crew(agents=[writer], tasks=[task]).kickoff()
print(result.raw)

script = {"DESC-1": ["OUT-1"]}
