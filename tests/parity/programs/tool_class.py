"""A subclass of BaseTool with an args_schema with a default."""

from typing import Type

from crewai import Agent, Crew, Task
from crewai.tools import BaseTool
from pydantic import BaseModel, Field


class SearchInput(BaseModel):
    """What a search needs."""

    query: str = Field(..., description="What to look for.")
    limit: int = Field(3, description="How many to find.")


class SearchTool(BaseTool):
    name: str = "archive_search"
    description: str = "Searches the archive."
    args_schema: Type[BaseModel] = SearchInput

    def _run(self, query: str, limit: int = 3) -> str:
        print("searched", query, limit, type(limit).__name__)
        return f"found FOUND-1 for {query}"


archivist = Agent(role="Archivist", goal="Find", backstory="Knows every shelf.", tools=[SearchTool()], verbose=True)
task = Task(description="Find the letter DESC-1", expected_output="A shelf", agent=archivist)
result = Crew(agents=[archivist], tasks=[task]).kickoff()
print(result.raw)

script = {
    "DESC-1": [
        {"tool": ["archive_search", {"query": "letter"}]},
        {"tool": ["archive_search", {"query": "letters", "limit": 5}]},
        "shelf SHELF-1",
    ],
}
