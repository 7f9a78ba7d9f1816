"""`context=[]`: the task sees nothing of the others."""

from crewai import Agent, Crew, Task

agent = Agent(role="Worker", goal="Work", backstory="Works.")
one = Task(description="First DESC-1", expected_output="Text", agent=agent)
two = Task(description="Second DESC-2", expected_output="Text", agent=agent, context=[])
result = Crew(agents=[agent], tasks=[one, two]).kickoff()
print(result)

script = {"DESC-1": ["OUT-1"], "DESC-2": ["OUT-2"]}
