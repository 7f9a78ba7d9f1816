"""Projects: a `@CrewBase` class with YAML files next to it, or a crew in JSON files."""

# The types of the names below, for type checkers, are in `__init__.pyi`.
# pyright: reportUnsupportedDunderAll=false

from importlib import import_module
from typing import Any, Final

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

_EXTRAS: Final[dict[str, str]] = {
    "load_agent": "crewgraph.contrib.declared.json_crews",
    "load_agent_from_definition": "crewgraph.contrib.declared.json_crews",
    "load_crew": "crewgraph.contrib.declared.json_crews",
    "load_crew_and_kickoff": "crewgraph.contrib.declared.json_crews",
    "load_crew_from_definition": "crewgraph.contrib.declared.json_crews",
    "strip_jsonc_comments": "crewgraph.contrib.declared.jsonc",
}
"""Modules of names that are imported on first use."""


def __getattr__(name: str) -> Any:
    if name not in _EXTRAS:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    return getattr(import_module(_EXTRAS[name]), name)
