"""Memories are reset that are not there, or have no such name."""

from crewai import Agent, Crew, Task

clerk = Agent(role="Clerk", goal="Know the tides", backstory="Careful.")
crew = Crew(agents=[clerk], tasks=[Task(description="Tell DESC-1", expected_output="Text", agent=clerk)])
for kind in (
    "short",
    "long",
    "entity",
    "external",
    "knowledge",
    "agent_knowledge",
    "kickoff_outputs",
    "all",
    "nonsense",
):
    try:
        crew.reset_memories(command_type=kind)
        print(kind, "done")
    except Exception as error:
        print(kind, type(error).__name__)

script = {"DESC-1": ["OUT-1"]}
