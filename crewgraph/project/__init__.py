"""Projects: a class with `@CrewBase` whose methods make agents, tasks and a crew, from YAML files beside it."""

from crewgraph.project.crew_base import CrewBase
from crewgraph.project.decorators import (
    after_kickoff,
    agent,
    before_kickoff,
    cache_handler,
    callback,
    crew,
    llm,
    output_json,
    output_pydantic,
    task,
    tool,
)

__all__ = [
    "CrewBase",
    "after_kickoff",
    "agent",
    "before_kickoff",
    "cache_handler",
    "callback",
    "crew",
    "llm",
    "output_json",
    "output_pydantic",
    "task",
    "tool",
]
