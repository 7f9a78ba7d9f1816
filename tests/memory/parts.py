"""Crews with memory."""

from crewgraph import Agent, Crew, ScriptedLLM

__all__ = ["crew_of"]


def crew_of(*roles: str) -> Crew:
    """A crew with agents of these roles."""
    return Crew(agents=[Agent(role=role, goal="g", backstory="b", llm=ScriptedLLM([])) for role in roles])
