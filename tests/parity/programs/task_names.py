"""Named tasks: the names in outputs and events."""

from crewai import Agent, Crew, Task

agent = Agent(role="Worker", goal="Work", backstory="Works.")
one = Task(name="gather", description="First DESC-1", expected_output="Text", agent=agent)
two = Task(name="write", description="Second DESC-2", expected_output="Text", agent=agent)
crew = Crew(name="reporters", agents=[agent], tasks=[one, two])
result = crew.kickoff()
print([output.name for output in result.tasks_output], crew.name)
print(two.output.summary, two.output.expected_output, two.output.description)

script = {"DESC-1": ["OUT-1"], "DESC-2": ["OUT-2"]}
