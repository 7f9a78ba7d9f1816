"""max_execution_time that is not reached."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.", max_execution_time=30, max_retry_limit=1)
task = Task(description="One DESC-1", expected_output="Text", agent=agent)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result.raw)

script = {"DESC-1": ["OUT-1"]}
