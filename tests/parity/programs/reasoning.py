"""reasoning=True: a plan is made before the work."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.", reasoning=True, max_reasoning_attempts=1)
task = Task(description="One DESC-1", expected_output="Text", agent=agent)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print("OUT-1" in result.raw)

script = {"DESC-1": [{"text": "PLAN-1. READY: I am ready to execute the task."}, "OUT-1"]}
