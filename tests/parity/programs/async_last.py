"""The last task is async."""

from crewai import Agent, Crew, Task

one_agent = Agent(role="First", goal="Work", backstory="Works.")
two_agent = Agent(role="Second", goal="Work", backstory="Works.")
one = Task(description="One DESC-1", expected_output="Text", agent=one_agent)
two = Task(description="Two DESC-2", expected_output="Text", agent=two_agent, async_execution=True, context=[one])
result = Crew(agents=[one_agent, two_agent], tasks=[one, two]).kickoff()
print(result.raw)

parallel = True
script = {"DESC-2": ["OUT-2"], "DESC-1": ["OUT-1"]}
