"""output_pydantic from JSON in a code fence with words around it."""

from typing import List, Optional

from crewai import Agent, Crew, Task
from pydantic import BaseModel, Field


class Chapter(BaseModel):
    title: str = Field(description="The title of the chapter.")
    pages: Optional[int] = None


class Book(BaseModel):
    title: str
    chapters: List[Chapter]


agent = Agent(role="Editor", goal="Edit", backstory="Edits.")
task = Task(description="Outline the book DESC-1", expected_output="An outline", agent=agent, output_pydantic=Book)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print([chapter.title for chapter in result.pydantic.chapters])

script = {
    "BOOK-1": ['{"title": "BOOK-1", "chapters": [{"title": "CHAPTER-1", "pages": 3}, {"title": "CHAPTER-2"}]}'],
    "DESC-1": [
        'Here it is:\n```json\n{"title": "BOOK-1", "chapters": [{"title": "CHAPTER-1", "pages": 3}, '
        '{"title": "CHAPTER-2"}]}\n```\nEnjoy.'
    ],
}
