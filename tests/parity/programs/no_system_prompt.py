"""use_system_prompt=False: all is said in the user's message."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer ROLE-1", goal="Write GOAL-1", backstory="Writes BACK-1.", use_system_prompt=False)
task = Task(description="One DESC-1", expected_output="Text", agent=agent)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result.raw)

script = {"DESC-1": ["OUT-1"]}
