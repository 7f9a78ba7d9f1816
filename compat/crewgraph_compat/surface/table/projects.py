"""Projects: `@CrewBase`, the decorators of its methods, and crews in JSON files."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_CREW_BASE = rows("crewgraph.project.crew_base", "CrewBase")
_MEMOIZE = rows("crewgraph.project.roles", "memoize")
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
_JSON_CREW = rows("crewgraph.contrib.declared.json_crews", "load_crew", "load_crew_and_kickoff")
_JSON_AGENT = {
    **rows("crewgraph.contrib.declared.json_crews", "load_agent", "load_agent_from_definition"),
    **rows("crewgraph.contrib.declared.jsonc", "strip_jsonc_comments"),
}
_JSON_ERRORS = rows(
    "crewgraph.errors", JSONProjectError="DefinitionError", JSONProjectValidationError="DefinitionError"
)

_FILES = "crewgraph_compat.stand_ins.projects.files"
_DEFINITIONS = rows(
    "crewgraph.contrib.declared.crew",
    "AgentDefinition",
    "CrewAgentDefinition",
    "CrewDefinition",
    "CrewTaskDefinition",
    "PythonReferenceDefinition",
)
_JSON_FILES = rows(
    "crewgraph_compat.stand_ins.projects.files", "JSONAgentDefinition", "JSONCrewProject", "load_json_crew_project"
)
_METHODS = "crewgraph_compat.stand_ins.projects.methods"

MODULES: dict[str, dict[str, str]] = {
    "crewai.project": {**_CREW_BASE, **_DECORATORS, **_DEFINITIONS, **_JSON_AGENT, **_JSON_CREW},
    "crewai.project.annotations": {**_DECORATORS, **_MEMOIZE, **rows(_METHODS, "P", P2="P")},
    "crewai.project.crew_base": {
        **_CREW_BASE,
        **rows("crewgraph.tools.base", "BaseTool"),
        **rows("crewgraph.project.configuration", "load_configurations"),
        **rows("crewgraph.project.crew_base", "get_mcp_tools"),
        **rows(_FILES, "AgentConfig", "TaskConfig", "close_mcp_server", "load_yaml"),
        **rows(_METHODS, "CrewBaseMeta", "map_all_agent_variables", "map_all_task_variables"),
    },
    "crewai.project.crew_definition": {
        **_DEFINITIONS,
        **rows("crewgraph.contrib.declared.crew", "LLMDefinition"),
    },
    "crewai.project.crew_loader": {
        **_JSON_CREW,
        **_JSON_ERRORS,
        **_JSON_FILES,
        **rows("crewgraph.contrib.declared.json_crews", "load_crew_from_definition"),
    },
    "crewai.project.json_loader": {
        **_JSON_AGENT,
        **_JSON_ERRORS,
        **_JSON_FILES,
        **rows("crewgraph_compat.stand_ins.projects.files", "validate_crew_project"),
        **rows(
            _FILES,
            "JSON_PROJECT_EXTENSIONS",
            "PYTHON_REF_KEY",
            "find_crew_json_file",
            "find_json_project_file",
            "load_jsonc_file",
            "parse_jsonc",
        ),
    },
    "crewai.project.utils": {**_MEMOIZE, **rows(_METHODS, "P")},
    "crewai.project.wrappers": rows(
        _METHODS,
        "AfterKickoffMethod",
        "AgentMethod",
        "BeforeKickoffMethod",
        "BoundTaskMethod",
        "CacheHandlerMethod",
        "CallbackMethod",
        "CrewClass",
        "CrewInstance",
        "CrewMetadata",
        "CrewMethod",
        "DecoratedMethod",
        "LLMMethod",
        "OutputClass",
        "OutputJsonClass",
        "OutputPydanticClass",
        "P",
        "TaskMethod",
        "TaskResult",
        "ToolMethod",
    ),
    "crewai.types.hitl": rows("crewgraph_compat.stand_ins.flows.types", "CrewInputsWithHITL", "HITLResumeInfo"),
    "crewai.utilities.crew": {},
    "crewai.utilities.crew.crew_context": rows("crewgraph_compat.stand_ins.context", "CrewContext", "get_crew_context"),
    "crewai.utilities.crew.models": rows("crewgraph_compat.stand_ins.context", "CrewContext"),
    "crewai.utilities.crew_chat": {
        **rows("crewgraph_compat.surface.version", "get_crewai_version"),
        **rows(
            "crewgraph_compat.stand_ins.console.chat",
            "DEFAULT_CREW_DESCRIPTION",
            "DEFAULT_INPUT_DESCRIPTION",
            "MIN_REQUIRED_VERSION",
            "build_system_message",
            "chat_loop",
            "check_conversational_crews_version",
            "create_tool_function",
            "fetch_required_inputs",
            "flush_input",
            "generate_crew_chat_inputs",
            "generate_crew_description_with_ai",
            "generate_crew_tool_schema",
            "generate_input_description_with_ai",
            "get_user_input",
            "handle_user_input",
            "initialize_chat_llm",
            "load_crew_and_name",
            "run_chat",
            "run_crew_tool",
            "show_loading",
        ),
        **rows("crewgraph_compat.stand_ins.projects.exports", "read_toml"),
    },
    "crewai.utilities.project_utils": rows(
        "crewgraph_compat.stand_ins.projects.exports",
        "AvailableExport",
        "EnvVarEntry",
        "ToolMetadata",
        "extract_available_exports",
        "extract_tools_metadata",
        "fetch_crews",
        "get_crew_instance",
        "get_crews",
        "get_flow_instance",
        "get_flows",
        "get_project_description",
        "get_project_name",
        "get_project_version",
        "is_valid_tool",
        "parse_toml",
        "read_toml",
    ),
}
"""The modules of this area."""
