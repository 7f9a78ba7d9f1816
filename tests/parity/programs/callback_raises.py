"""A task's callback that fails."""

from crewai import Agent, Crew, Task


def broken(output):
    raise RuntimeError("REASON-1")


agent = Agent(role="Writer", goal="Write", backstory="Writes.")
one = Task(description="One DESC-1", expected_output="Text", agent=agent, callback=broken)
two = Task(description="Two DESC-2", expected_output="Text", agent=agent)
result = Crew(agents=[agent], tasks=[one, two]).kickoff()

script = {"DESC-1": ["OUT-1"], "DESC-2": ["OUT-2"]}
