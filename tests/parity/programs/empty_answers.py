"""A model that answers with nothing, again and again."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="One DESC-1", expected_output="Text", agent=agent)
Crew(agents=[agent], tasks=[task]).kickoff()

script = {"DESC-1": [{"empty": True}]}
