"""A guardrail that fails itself."""

from crewai import Agent, Crew, Task


def broken(output):
    raise KeyError("REASON-1")


agent = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="One DESC-1", expected_output="Text", agent=agent, guardrail=broken)
Crew(agents=[agent], tasks=[task]).kickoff()

script = {"DESC-1": ["OUT-1"]}
