"""output_pydantic from a model that writes prose where no form is asked for: it is asked for the structure."""

from crewai import Agent, Crew, Task
from pydantic import BaseModel


class Person(BaseModel):
    name: str
    age: int


agent = Agent(role="Reader", goal="Read", backstory="Reads.")
task = Task(description="Who is it? DESC-1", expected_output="A person", agent=agent, output_pydantic=Person)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result.pydantic)

script = {
    "PROSE-1": [{"json": {"name": "NAME-1", "age": 41}}],
    "DESC-1": [{"json": {"name": "NAME-1", "age": 41}, "else": "It is PROSE-1, who is called NAME-1 and is 41."}],
}
