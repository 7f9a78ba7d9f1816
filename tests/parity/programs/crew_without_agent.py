"""A task without an agent in a sequential crew."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="One DESC-1", expected_output="Text")
crew = Crew(agents=[agent], tasks=[task])

script = {"DESC-1": ["OUT-1"]}
