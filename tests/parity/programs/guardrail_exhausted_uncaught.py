"""A guardrail that refuses everything, with the retries a task has by default; the program ends by it."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(
    description="One DESC-1",
    expected_output="Text",
    agent=agent,
    guardrail=lambda output: (False, "REASON-1"),
)
after = Task(description="Two DESC-2", expected_output="Text", agent=agent)
Crew(agents=[agent], tasks=[task, after]).kickoff()

script = {"DESC-1": ["OUT-1"], "DESC-2": ["OUT-2"]}
