"""human_input: the answer is accepted at once."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="Write DESC-1", expected_output="Text", agent=agent, human_input=True)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result.raw)

typed = "\n"
script = {"DESC-1": ["OUT-1"]}
