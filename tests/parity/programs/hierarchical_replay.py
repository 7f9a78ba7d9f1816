"""Replay of the second task of a hierarchical crew."""

from crewai import Agent, Crew, Process, Task

writer = Agent(role="Writer", goal="Write", backstory="Writes.")
one = Task(description="One DESC-1", expected_output="Text")
two = Task(description="Two DESC-2", expected_output="Text")
crew = Crew(agents=[writer], tasks=[one, two], process=Process.hierarchical, manager_llm="gpt-4o")
result = crew.kickoff()
second = crew.replay(task_id=str(two.id))
print(result.raw, second.raw, len(second.tasks_output))

script = {"DESC-2": ["OUT-2", "AGAIN-2"], "DESC-1": ["OUT-1", "AGAIN-1"]}
