"""An agent by itself asks for a skill that there is not."""

from pathlib import Path

from crewai import Agent

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


agent = Agent(role="Clerk", goal="Know", backstory="Knows.", skills=["skills"])
result = agent.kickoff("The tide? DESC-1")
print(result.raw)

script = {"DESC-1": [{"tool": ["load_skill", {"skill_name": "stars"}]}, "OUT-1"]}
