"""A guardrail gives another text for the answer."""

from typing import Any, Tuple

from crewai import Agent, Crew, Task, TaskOutput


def upper(output: TaskOutput) -> Tuple[bool, Any]:
    return (True, output.raw.upper())


agent = Agent(role="Writer", goal="Write", backstory="Writes.")
one = Task(description="One DESC-1", expected_output="Text", agent=agent, guardrail=upper)
two = Task(description="Two DESC-2", expected_output="Text", agent=agent)
result = Crew(agents=[agent], tasks=[one, two]).kickoff()
print(one.output.raw)

script = {"DESC-1": ["quiet words"], "DESC-2": ["OUT-2"]}
