"""Projects: `@CrewBase` and the decorators of its methods."""

from crewgraph_compat.table.rows import rows

__all__ = ["MODULES"]

_CREW_BASE = rows("crewgraph.project.crew_base", "CrewBase")
_MEMOIZE = rows("crewgraph.project.memo", memoize="memoized")
_DECORATORS = rows(
    "crewgraph.project.decorators",
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
)

MODULES: dict[str, dict[str, str]] = {
    "crewai.project": {**_CREW_BASE, **_DECORATORS},
    "crewai.project.annotations": {**_DECORATORS, **_MEMOIZE},
    "crewai.project.crew_base": {**_CREW_BASE, **rows("crewgraph.tools.base", "BaseTool")},
    "crewai.project.utils": _MEMOIZE,
}
"""The modules of this area."""
