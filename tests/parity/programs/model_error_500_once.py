"""The model's server fails once."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
one = Task(description="One DESC-1", expected_output="Text", agent=agent)
result = Crew(agents=[agent], tasks=[one]).kickoff()
print(result.raw)

script = {"DESC-1": [{"status": 500}, "OUT-1"]}
