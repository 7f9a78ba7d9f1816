"""A conditional task after an async one."""

from crewai import Agent, Crew, Task
from crewai.tasks.conditional_task import ConditionalTask

first = Agent(role="First", goal="Write", backstory="Writes.")
second = Agent(role="Second", goal="Write", backstory="Writes.")
one = Task(description="One DESC-1", expected_output="Text", agent=first, async_execution=True)
two = ConditionalTask(
    description="Two DESC-2",
    expected_output="Text",
    agent=second,
    condition=lambda output: "OUT-1" in output.raw,
)
result = Crew(agents=[first, second], tasks=[one, two]).kickoff()
print([output.raw for output in result.tasks_output])

parallel = True
script = {"DESC-2": ["OUT-2"], "DESC-1": ["OUT-1"]}
