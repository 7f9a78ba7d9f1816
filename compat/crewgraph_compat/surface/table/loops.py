"""The agent loop: steps, parsing of replies, and tools."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_EXECUTORS = "crewgraph_compat.stand_ins.agents.executor"
_PROTOCOL = "crewgraph_compat.stand_ins.console.prompts"
_PROTOCOLS = "crewgraph_compat.stand_ins.agents.steps"
_USES = "crewgraph_compat.stand_ins.tools.usage"

_BASE_EXECUTOR = rows(_EXECUTORS, "BaseAgentExecutor")
_FINAL_ANSWER = rows("crewgraph.compiler.agent.protocol", "FINAL_ANSWER_ACTION")
_PARSER = {
    **rows("crewgraph.compiler.agent.protocol", "OutputParserError", "parse"),
    **rows("crewgraph.definitions.agent.last_run", "AgentAction", "AgentFinish"),
}
_WORDS = rows(
    _PROTOCOL,
    "ACTION_INPUT_ONLY_REGEX",
    "ACTION_INPUT_REGEX",
    "ACTION_REGEX",
    "MISSING_ACTION_AFTER_THOUGHT_ERROR_MESSAGE",
    "MISSING_ACTION_INPUT_AFTER_ACTION_ERROR_MESSAGE",
    "UNABLE_TO_REPAIR_JSON_RESULTS",
)

MODULES: dict[str, dict[str, str]] = {
    "crewai.agents.agent_adapters.langgraph.protocols": rows(
        _PROTOCOLS, "LangGraphCheckPointMemoryModule", "LangGraphMemorySaver", "LangGraphPrebuiltModule"
    ),
    "crewai.agents.agent_adapters.openai_agents.protocols": rows(
        _PROTOCOLS,
        "AgentKwargs",
        "OpenAIAgent",
        "OpenAIAgentsModule",
        "OpenAIFunctionTool",
        "OpenAIRunner",
        "OpenAITool",
    ),
    "crewai.agents.agent_builder.base_agent_executor": _BASE_EXECUTOR,
    "crewai.agents.agent_builder.base_agent_executor_mixin": rows(
        _EXECUTORS, CrewAgentExecutorMixin="BaseAgentExecutor"
    ),
    "crewai.agents.agent_executor": rows(_EXECUTORS, "AgentExecutor", "AgentExecutorState"),
    "crewai.agents.constants": {
        **_FINAL_ANSWER,
        **_WORDS,
        **rows(_PROTOCOL, "FINAL_ANSWER_AND_PARSABLE_ACTION_ERROR_MESSAGE"),
    },
    "crewai.agents.crew_agent_executor": {**rows(_EXECUTORS, "CrewAgentExecutor"), **rows(_USES, "ToolResult")},
    "crewai.agents.parser": {
        **_FINAL_ANSWER,
        **_PARSER,
        **_WORDS,
        **rows("crewgraph.compiler.agent.protocol", OutputParserException="OutputParserError"),
    },
    "crewai.agents.tools_handler": rows("crewgraph.tools.cache", "ToolsHandler"),
    "crewai.tools.cache_tools": {},
    "crewai.tools.cache_tools.cache_tools": rows(_USES, "CacheTools"),
    "crewai.tools.tool_calling": {
        **rows(_USES, "InstructorToolCalling"),
        **rows("crewgraph.tools.cache", "ToolCalling"),
    },
    "crewai.tools.tool_types": rows(_USES, "ToolResult"),
    "crewai.tools.tool_usage": rows(
        _USES, "OPENAI_BIGGER_MODELS", "ToolUsage", "ToolUsageError", ToolUsageErrorException="ToolUsageError"
    ),
}
"""The modules of this area."""
