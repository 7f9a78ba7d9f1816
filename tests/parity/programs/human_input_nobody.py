"""human_input where nobody is there to answer."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.", max_retry_limit=0)
task = Task(description="Write DESC-1", expected_output="Text", agent=agent, human_input=True)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result.raw if result.tasks_output else "")

script = {"DESC-1": ["OUT-1"]}
