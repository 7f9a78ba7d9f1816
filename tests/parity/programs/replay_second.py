"""Replay of the second of three tasks."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
one = Task(description="One DESC-1", expected_output="Text", agent=agent)
two = Task(description="Two DESC-2", expected_output="Text", agent=agent)
three = Task(description="Three DESC-3", expected_output="Text", agent=agent)
crew = Crew(agents=[agent], tasks=[one, two, three])
result = crew.kickoff()
second = crew.replay(task_id=str(two.id))
print([output.raw for output in second.tasks_output])

script = {"DESC-3": ["OUT-3", "AGAIN-3"], "DESC-2": ["OUT-2", "AGAIN-2"], "DESC-1": ["OUT-1", "AGAIN-1"]}
