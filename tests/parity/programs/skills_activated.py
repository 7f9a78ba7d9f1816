"""Skills that were read before stand in the prompt."""

from pathlib import Path

from crewai import Agent, Crew, Task
from crewai.skills import load_skill

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


skills = load_skill(Path("skills"))
print([(skill.name, skill.disclosure_level, skill.instructions) for skill in skills])
agent = Agent(role="Clerk", goal="Know", backstory="Knows.", skills=skills)
task = Task(description="The tide? DESC-1", expected_output="Text", agent=agent)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result.raw)

script = {"DESC-1": ["OUT-1"]}
