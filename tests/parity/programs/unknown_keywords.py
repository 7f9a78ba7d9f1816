"""Keywords that no version has."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.", personality="kind", allow_delegration=False)
task = Task(description="One DESC-1", expected_output="Text", agent=agent, max_retries=2, verbose=True)
result = Crew(agents=[agent], tasks=[task], full_output=True).kickoff()
print(result.raw)

script = {"DESC-1": ["OUT-1"]}
