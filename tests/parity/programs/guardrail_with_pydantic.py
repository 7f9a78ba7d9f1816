"""A guardrail that looks at the structure."""

from crewai import Agent, Crew, Task
from pydantic import BaseModel


class Count(BaseModel):
    number: int


def positive(output):
    if output.pydantic.number < 0:
        return (False, "REASON-1 negative")
    return (True, output)


agent = Agent(role="Counter", goal="Count", backstory="Counts.")
task = Task(
    description="How many? DESC-1", expected_output="A number", agent=agent, output_pydantic=Count, guardrail=positive
)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result.pydantic)

script = {"DESC-1": ['{"number": -1}', '{"number": 2}'], "*": ['{"number": 2}']}
