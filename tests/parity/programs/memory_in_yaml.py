"""Agents with `memory` in their configuration, and a crew that has it."""

from crewai import Agent, Crew, Task

config = {"role": "Clerk", "goal": "Know the tides", "backstory": "Careful.", "memory": True}
clerk = Agent(config=config)
writer = Agent(config={"role": "Writer", "goal": "Write", "backstory": "Quick.", "memory": False})
find = Task(description="Find the tide of Brest DESC-1", expected_output="A sentence", agent=clerk)
write = Task(description="Write on the tide of Brest DESC-2", expected_output="A text", agent=writer)
result = Crew(agents=[clerk, writer], tasks=[find, write], memory=True).kickoff()
print(result.raw)

script = {"DESC-1": ["OUT-1 the tide of Brest is six"], "DESC-2": ["OUT-2 a text on the tide"]}
remembered = {
    "DESC-2": {"suggestions": ["HINT-2"], "quality": 8, "memories": ["FACT-2 it was written on"]},
    "DESC-1": {"suggestions": ["HINT-1"], "quality": 8, "memories": ["FACT-1 the tide of Brest is six"]},
}
