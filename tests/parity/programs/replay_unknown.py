"""Replay of a task that there is not."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="Write DESC-1", expected_output="Text", agent=agent)
crew = Crew(agents=[agent], tasks=[task])
result = crew.kickoff()
try:
    crew.replay(task_id="2b0e2f9e-0000-4000-8000-000000000000")
except ValueError:
    print("refused")

script = {"DESC-1": ["OUT-1"]}
