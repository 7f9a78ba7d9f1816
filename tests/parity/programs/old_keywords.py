"""Keywords of tasks and crews that were never there."""

from crewai import Agent, Crew, Task

agent = Agent(role="Clerk", goal="Know the tides", backstory="Ten years in.", system_message="Be brief")
task = Task(
    description="When is high water? DESC-1",
    expected_output="A time",
    agent=agent,
    inputs={"port": "Brest"},
    timeout=60,
)
result = Crew(agents=[agent], tasks=[task], manager=agent, max_execution_time=60).kickoff()
print(result.raw)

script = {"DESC-1": ["OUT-1"]}
