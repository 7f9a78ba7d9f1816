"""Hierarchical crews that are refused: no manager, a manager who also works."""

from crewai import Agent, Crew, Process, Task
from pydantic import ValidationError

writer = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="Write DESC-1", expected_output="Text")
for words in ({}, {"manager_agent": writer}):
    try:
        Crew(agents=[writer], tasks=[task], process=Process.hierarchical, **words)
    except ValidationError as error:
        print([one["type"] for one in error.errors()])

script = {}
