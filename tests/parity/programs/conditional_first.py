"""A crew that begins with a conditional task."""

from crewai import Agent, Crew, Task
from crewai.tasks.conditional_task import ConditionalTask

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
one = ConditionalTask(description="One DESC-1", expected_output="Text", agent=agent, condition=lambda output: True)
two = Task(description="Two DESC-2", expected_output="Text", agent=agent)
result = Crew(agents=[agent], tasks=[one, two]).kickoff()

script = {"DESC-1": ["OUT-1"], "DESC-2": ["OUT-2"]}
