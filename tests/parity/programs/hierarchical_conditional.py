"""A hierarchical crew whose conditional task is skipped."""

from crewai import Agent, Crew, Process, Task
from crewai.tasks.conditional_task import ConditionalTask

writer = Agent(role="Writer", goal="Write", backstory="Writes.")
one = Task(description="One DESC-1", expected_output="Text")
two = ConditionalTask(
    description="Two DESC-2", expected_output="Text", condition=lambda output: "NEVER-1" in output.raw
)
three = Task(description="Three DESC-3", expected_output="Text")
crew = Crew(agents=[writer], tasks=[one, two, three], process=Process.hierarchical, manager_llm="gpt-4o")
result = crew.kickoff()
print([output.raw for output in result.tasks_output])

script = {"DESC-3": ["OUT-3"], "DESC-2": ["OUT-2"], "DESC-1": ["OUT-1"]}
