"""output_pydantic that the model never manages."""

from crewai import Agent, Crew, Task
from pydantic import BaseModel


class Person(BaseModel):
    name: str
    age: int


agent = Agent(role="Reader", goal="Read", backstory="Reads.")
task = Task(description="Who is it? DESC-1", expected_output="A person", agent=agent, output_pydantic=Person)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result.pydantic)
print(result.raw)

script = {"PROSE-1": ["I cannot say SORRY-1"], "DESC-1": ["It is PROSE-1, somebody."]}
