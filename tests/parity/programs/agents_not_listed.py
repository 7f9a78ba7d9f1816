"""The tasks' agents do the work, also one that the crew does not list."""

from crewai import Agent, Crew, Task

listed = Agent(role="Listed", goal="Work", backstory="Works.")
other = Agent(role="Other ROLE-2", goal="Work", backstory="Works.")
one = Task(description="First DESC-1", expected_output="Text", agent=listed)
two = Task(description="Second DESC-2", expected_output="Text", agent=other)
result = Crew(agents=[listed], tasks=[one, two]).kickoff()
print([output.agent for output in result.tasks_output])

script = {"DESC-1": ["OUT-1"], "DESC-2": ["OUT-2"]}
