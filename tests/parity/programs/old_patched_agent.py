"""`Agent.execute_task`, patched as tests patch it."""

from unittest.mock import patch

from crewai import Agent, Crew, Task

agent = Agent(role="Clerk", goal="Know the tides", backstory="Ten years in.")
task = Task(description="When is high water? DESC-1", expected_output="A time", agent=agent)
with patch.object(Agent, "execute_task", return_value="from the patch") as call:
    result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result.raw, call.call_count)

script = {"DESC-1": ["OUT-1"]}
