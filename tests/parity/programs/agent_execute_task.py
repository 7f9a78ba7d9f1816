"""Agent.execute_task by itself."""

from crewai import Agent, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="One DESC-1", expected_output="Text", agent=agent)
print(agent.execute_task(task))
print(agent.execute_task(task, context="before CONTEXT-1"))

script = {"DESC-1": ["OUT-1", "OUT-2"]}
