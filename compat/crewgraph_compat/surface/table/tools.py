"""Tools."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_STRUCTURED = rows("crewgraph.tools.structured", "CrewStructuredTool")

_MCP_CONFIG = rows("crewgraph.tools.mcp.server", "MCPServerConfig", "MCPServerHTTP", "MCPServerSSE", "MCPServerStdio")
_MCP_FILTERS = rows(
    "crewgraph.tools.mcp.filter",
    "StaticToolFilter",
    "ToolFilter",
    "ToolFilterContext",
    "create_dynamic_tool_filter",
    "create_static_tool_filter",
)

_SERVER_TOOLS = "crewgraph_compat.stand_ins.tools.mcp"
_MCP_RESOLVER = rows("crewgraph.tools.mcp.resolver", "MCPToolResolver")

MODULES: dict[str, dict[str, str]] = {
    "crewai.mcp": {**_MCP_CONFIG, **_MCP_FILTERS, **_MCP_RESOLVER},
    "crewai.mcp.tool_resolver": {
        **_MCP_RESOLVER,
    },
    "crewai.mcp.config": {**_MCP_CONFIG, **rows("crewgraph.tools.mcp.filter", "ToolFilter")},
    "crewai.mcp.exceptions": {
        **rows("crewgraph.errors", MCPConnectionError="MCPServerError"),
    },
    "crewai.mcp.filters": _MCP_FILTERS,
    "crewai.tools": {
        **rows("crewgraph.tools.base", "BaseTool", "EnvVar", "tool"),
        **rows(
            "crewgraph.tools.failure",
            "ToolExecutionFailedError",
            "ToolFailure",
            "ToolFailurePolicy",
            "ToolFailureReason",
            "ToolFailureRecord",
        ),
    },
    "crewai.tools.agent_tools": {},
    "crewai.tools.agent_tools.add_image_tool": {
        **rows("crewgraph.tools.image", "AddImageTool", "AddImageToolSchema"),
        **rows("crewgraph.tools.base", "BaseTool"),
    },
    "crewai.tools.agent_tools.agent_tools": {
        **rows("crewgraph.definitions.coworkers", "AgentTools", "AskQuestionTool", DelegateWorkTool="DelegateTaskTool"),
        **rows("crewgraph.tools.base", "BaseTool"),
    },
    "crewai.tools.agent_tools.read_file_tool": rows("crewgraph.tools.input_file", "ReadFileTool", "ReadFileToolSchema"),
    "crewai.tools.agent_tools.ask_question_tool": rows(
        "crewgraph.definitions.coworkers", "AskQuestionTool", "AskQuestionToolSchema", BaseAgentTool="CoworkerTool"
    ),
    "crewai.tools.agent_tools.base_agent_tools": {
        **rows("crewgraph.definitions.coworkers", BaseAgentTool="CoworkerTool"),
        **rows("crewgraph.tools.base", "BaseTool"),
    },
    "crewai.tools.agent_tools.delegate_work_tool": rows(
        "crewgraph.definitions.coworkers",
        "DelegateWorkToolSchema",
        BaseAgentTool="CoworkerTool",
        DelegateWorkTool="DelegateTaskTool",
    ),
    "crewai.tools.base_tool": {
        **rows("crewgraph.tools.base", "BaseTool", "EnvVar", "Tool", "tool"),
        **_STRUCTURED,
    },
    "crewai.tools.mcp_tool_wrapper": rows(
        _SERVER_TOOLS,
        "MCPToolWrapper",
    ),
    "crewai.tools.memory_tools": {
        **rows(
            "crewgraph.tools.memory",
            "RecallMemorySchema",
            "RecallMemoryTool",
            "RememberSchema",
            "RememberTool",
            "create_memory_tools",
        ),
        **rows("crewgraph.tools.base", "BaseTool"),
    },
    "crewai.tools.structured_tool": {
        **_STRUCTURED,
        **rows("crewgraph.tools.limit", ToolUsageLimitExceededError="UsageLimitReached"),
    },
}
"""The modules of this area."""
