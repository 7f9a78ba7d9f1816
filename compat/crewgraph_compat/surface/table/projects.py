"""Projects: `@CrewBase`, the decorators of its methods, and crews in JSON files."""

from crewgraph_compat.surface.table.rows import rows

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
_JSON_CREW = rows("crewgraph.project.json_project", "load_crew", "load_crew_and_kickoff")
_JSON_AGENT = {
    **rows("crewgraph.project.json_project", "load_agent", "load_agent_from_definition"),
    **rows("crewgraph.project.jsonc", "strip_jsonc_comments"),
}
_JSON_ERRORS = rows(
    "crewgraph.errors", JSONProjectError="DefinitionError", JSONProjectValidationError="DefinitionError"
)

_DEFINITIONS = rows(
    "crewgraph.definitions.declared.crew",
    "AgentDefinition",
    "CrewAgentDefinition",
    "CrewDefinition",
    "CrewTaskDefinition",
    "PythonReferenceDefinition",
)

MODULES: dict[str, dict[str, str]] = {
    "crewai.project": {**_CREW_BASE, **_DECORATORS, **_DEFINITIONS, **_JSON_AGENT, **_JSON_CREW},
    "crewai.project.annotations": {
        **_DECORATORS,
        **_MEMOIZE,
    },
    "crewai.project.crew_base": {
        **_CREW_BASE,
        **rows("crewgraph.tools.base", "BaseTool"),
        **rows("crewgraph.project.configuration", load_configurations="load_declared"),
        **rows("crewgraph.project.mcp_servers", "get_mcp_tools"),
    },
    "crewai.project.crew_definition": {
        **_DEFINITIONS,
        **rows("crewgraph.definitions.declared.crew", "LLMDefinition"),
    },
    "crewai.project.crew_loader": {
        **_JSON_CREW,
        **_JSON_ERRORS,
        **rows("crewgraph.project.json_project", "load_crew_from_definition"),
    },
    "crewai.project.json_loader": {
        **_JSON_AGENT,
        **_JSON_ERRORS,
    },
    "crewai.project.utils": {
        **_MEMOIZE,
    },
}
"""The modules of this area."""
