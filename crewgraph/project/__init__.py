"""Projects: a class with `@CrewBase` and YAML files beside it, or a crew in JSON files."""

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
from crewgraph.project.env_file import load_env
from crewgraph.project.json_project import (
    load_agent,
    load_agent_from_definition,
    load_crew,
    load_crew_and_kickoff,
    load_crew_from_definition,
)
from crewgraph.project.jsonc import strip_jsonc_comments

__all__ = [
    "CrewBase",
    "after_kickoff",
    "agent",
    "before_kickoff",
    "cache_handler",
    "callback",
    "crew",
    "llm",
    "load_agent",
    "load_agent_from_definition",
    "load_crew",
    "load_crew_and_kickoff",
    "load_crew_from_definition",
    "load_env",
    "output_json",
    "output_pydantic",
    "strip_jsonc_comments",
    "task",
    "tool",
]
