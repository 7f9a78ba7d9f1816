"""Callbacks of tasks and of the crew, in their order."""

from crewai import Agent, Crew, Task

order = []
agent = Agent(role="Writer", goal="Write", backstory="Writes.")
one = Task(
    description="One DESC-1",
    expected_output="Text",
    agent=agent,
    callback=lambda output: order.append(f"task {output.raw}"),
)
two = Task(description="Two DESC-2", expected_output="Text", agent=agent)
crew = Crew(
    agents=[agent], tasks=[one, two], task_callback=lambda output: order.append(f"crew {output.raw} {output.agent}")
)
result = crew.kickoff()
print(order)

script = {"DESC-1": ["OUT-1"], "DESC-2": ["OUT-2"]}
