"""A crew with a folder of skills; its agent does without."""

from pathlib import Path

from crewai import Agent, Crew, Task

folder = Path("skills", "tides")
folder.mkdir(parents=True)
(folder / "SKILL.md").write_text(
    """---
name: tides
description: Read tide tables SKILL-1.
---
Look first SKILL-2.
"""
)


agent = Agent(role="Clerk", goal="Know", backstory="Knows.")
task = Task(description="The tide? DESC-1", expected_output="Text", agent=agent)
result = Crew(agents=[agent], tasks=[task], skills=["skills"]).kickoff()
print(result.raw)

script = {"DESC-1": ["OUT-1"]}
