"""The crew's function_calling_llm."""

from crewai import Agent, Crew, Task
from crewai.tools import tool
from pydantic import BaseModel


class Person(BaseModel):
    name: str


@tool("register")
def register(key: str) -> str:
    """Looks a person up."""
    return "PROSE-1 is NAME-1"


agent = Agent(role="Reader", goal="Read", backstory="Reads.", tools=[register], llm="gpt-4o")
task = Task(description="Who is it? DESC-1", expected_output="A person", agent=agent, output_pydantic=Person)
crew = Crew(agents=[agent], tasks=[task], function_calling_llm="gpt-4o-mini")
result = crew.kickoff()
print(result.pydantic)

script = {
    "DESC-1": [
        {"tool": ["register", {"key": "7"}]},
        {"json": {"name": "NAME-1"}, "else": "It is PROSE-1, also NAME-1."},
    ],
    "PROSE-1": [{"json": {"name": "NAME-1"}}],
}
