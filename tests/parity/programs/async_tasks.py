"""Two async tasks and a task that waits for both."""

from crewai import Agent, Crew, Task

one_agent = Agent(role="First", goal="Work", backstory="Works.")
two_agent = Agent(role="Second", goal="Work", backstory="Works.")
joiner = Agent(role="Joiner", goal="Join", backstory="Joins.")
one = Task(description="One DESC-1", expected_output="Text", agent=one_agent, async_execution=True)
two = Task(description="Two DESC-2", expected_output="Text", agent=two_agent, async_execution=True)
join = Task(description="Join DESC-3", expected_output="Text", agent=joiner, context=[one, two])
result = Crew(agents=[one_agent, two_agent, joiner], tasks=[one, two, join]).kickoff()
print(result.raw)

parallel = True
script = {"DESC-3": ["OUT-3"], "DESC-1": ["OUT-1"], "DESC-2": ["OUT-2"]}
