"""A conditional task whose condition does not hold, between two others."""

from crewai import Agent, Crew, Task
from crewai.tasks.conditional_task import ConditionalTask


def wants_more(output):
    return "short" in output.raw


agent = Agent(role="Writer", goal="Write", backstory="Writes.")
one = Task(description="One DESC-1", expected_output="Text", agent=agent)
two = ConditionalTask(description="More DESC-2", expected_output="Text", agent=agent, condition=wants_more)
three = Task(description="End DESC-3", expected_output="Text", agent=agent)
result = Crew(agents=[agent], tasks=[one, two, three]).kickoff()
print([output.raw for output in result.tasks_output])

script = {"DESC-1": ["long OUT-1"], "DESC-2": ["OUT-2"], "DESC-3": ["OUT-3"]}
