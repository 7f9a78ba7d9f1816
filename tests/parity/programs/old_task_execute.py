"""`Task.execute`, as tasks were done by hand in 2024."""

from crewai import Agent, Task

agent = Agent(role="Clerk", goal="Know the tides", backstory="Ten years in.")
task = Task(description="When is high water? DESC-1", expected_output="A time", agent=agent)
result = task.execute()
print("The result: " + result)

script = {"DESC-1": ["OUT-1"]}
