"""The model's server refuses the request."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
one = Task(description="One DESC-1", expected_output="Text", agent=agent)
two = Task(description="Two DESC-2", expected_output="Text", agent=agent)
Crew(agents=[agent], tasks=[one, two]).kickoff()

script = {"DESC-2": [{"status": 400}], "DESC-1": ["OUT-1"]}
