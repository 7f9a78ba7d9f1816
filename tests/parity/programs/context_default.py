"""A task without a context sees the outputs of the tasks before it."""

from crewai import Agent, Crew, Task

agent = Agent(role="Worker", goal="Work", backstory="Works.")
tasks = [Task(description=f"Step DESC-{n}", expected_output="Text", agent=agent) for n in range(1, 5)]
result = Crew(agents=[agent], tasks=tasks).kickoff()
print(result)

script = {"DESC-1": ["OUT-1"], "DESC-2": ["OUT-2"], "DESC-3": ["OUT-3"], "DESC-4": ["OUT-4"]}
