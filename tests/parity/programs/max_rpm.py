"""max_rpm of an agent and of a crew that is not reached."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.", max_rpm=100)
one = Task(description="One DESC-1", expected_output="Text", agent=agent)
two = Task(description="Two DESC-2", expected_output="Text", agent=agent)
result = Crew(agents=[agent], tasks=[one, two], max_rpm=60).kickoff()
print(result.raw)

script = {"DESC-1": ["OUT-1"], "DESC-2": ["OUT-2"]}
