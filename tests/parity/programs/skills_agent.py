"""An agent with a folder of skills reads one."""

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


agent = Agent(role="Clerk", goal="Know", backstory="Knows.", skills=[Path("skills")])
task = Task(description="The tide? DESC-1", expected_output="Text", agent=agent)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result.raw, [skill.name for skill in agent.skills])

script = {"DESC-1": [{"tool": ["load_skill", {"skill_name": "tides"}]}, "OUT-1"]}
