"""The last task is conditional and skipped."""

from crewai import Agent, Crew, Task
from crewai.tasks.conditional_task import ConditionalTask

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
one = Task(description="One DESC-1", expected_output="Text", agent=agent)
two = ConditionalTask(description="More DESC-2", expected_output="Text", agent=agent, condition=lambda output: False)
result = Crew(agents=[agent], tasks=[one, two]).kickoff()
print(repr(result.raw), [output.raw for output in result.tasks_output])

script = {"DESC-1": ["OUT-1"], "DESC-2": ["OUT-2"]}
