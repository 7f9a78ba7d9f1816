"""Tools."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_STRUCTURED = rows("crewgraph.tools.structured", "CrewStructuredTool")

_MCP_CONFIG = rows("crewgraph.tools.mcp.server", "MCPServerConfig", "MCPServerHTTP", "MCPServerSSE", "MCPServerStdio")
_MCP_FILTERS = rows(
    "crewgraph.tools.mcp.server",
    "StaticToolFilter",
    "ToolFilter",
    "ToolFilterContext",
    "create_dynamic_tool_filter",
    "create_static_tool_filter",
)

_CLIENT = "crewgraph_compat.stand_ins.mcp.client"
_SERVER_TOOLS = "crewgraph_compat.stand_ins.mcp.tools"
_FAILURES = "crewgraph_compat.stand_ins.mcp.failures"
_MCP_CLIENT = rows(_CLIENT, "BaseTransport", "MCPClient", "TransportType")
_MCP_RESOLVER = rows("crewgraph.tools.mcp.tool", "MCPToolResolver")

MODULES: dict[str, dict[str, str]] = {
    "crewai.mcp": {**_MCP_CONFIG, **_MCP_FILTERS, **_MCP_CLIENT, **_MCP_RESOLVER},
    "crewai.mcp.client": {
        **rows(_CLIENT, "MCPClient"),
        **rows(
            _CLIENT,
            MCP_CONNECTION_TIMEOUT="MCP_CLIENT_TIMEOUT",
            MCP_DISCOVERY_TIMEOUT="MCP_CLIENT_TIMEOUT",
            MCP_TOOL_EXECUTION_TIMEOUT="MCP_CLIENT_TIMEOUT",
        ),
        **rows(_SERVER_TOOLS, "MCP_MAX_RETRIES"),
    },
    "crewai.mcp.tool_resolver": {
        **_MCP_RESOLVER,
        **rows(_CLIENT, MCP_TOOL_EXECUTION_TIMEOUT="MCP_CLIENT_TIMEOUT"),
        **rows(
            _SERVER_TOOLS, "MCP_DISCOVERY_TIMEOUT", "MCP_MAX_RETRIES", MCP_CONNECTION_TIMEOUT="MCP_RESOLVER_TIMEOUT"
        ),
    },
    "crewai.mcp.transports": rows(
        _CLIENT, "BaseTransport", "HTTPTransport", "SSETransport", "StdioTransport", "TransportType"
    ),
    "crewai.mcp.transports.base": rows(_CLIENT, "BaseTransport", "TransportType"),
    "crewai.mcp.transports.http": rows(_CLIENT, "HTTPTransport"),
    "crewai.mcp.transports.sse": rows(_CLIENT, "SSETransport"),
    "crewai.mcp.transports.stdio": rows(_CLIENT, "StdioTransport"),
    "crewai.mcp.config": {**_MCP_CONFIG, **rows("crewgraph.tools.mcp.server", "ToolFilter")},
    "crewai.mcp.content": rows(_FAILURES, "content_blocks_to_text"),
    "crewai.mcp.exceptions": {
        **rows("crewgraph.errors", MCPConnectionError="MCPServerError"),
        **rows(
            _FAILURES,
            "AUTH_STATUS_CODES",
            "MCPAuthenticationError",
            "MCPHTTPError",
            "error_for_status",
            "error_type_for_status",
            "find_http_status",
            "find_transport_failure",
            "raise_connection_failure",
            "tool_execution_error_type",
        ),
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
        **rows("crewgraph_compat.stand_ins.events", "i18n"),
    },
    "crewai.tools.agent_tools.agent_tools": {
        **rows(
            "crewgraph.definitions.agent.delegation_tools",
            "AgentTools",
            "AskQuestionTool",
            DelegateWorkTool="DelegateTaskTool",
        ),
        **rows("crewgraph.tools.base", "BaseTool"),
    },
    "crewai.tools.agent_tools.read_file_tool": rows(
        "crewgraph.contrib.files.agent_files", "ReadFileTool", "ReadFileToolSchema"
    ),
    "crewai.tools.agent_tools.ask_question_tool": rows(
        "crewgraph.definitions.agent.delegation_tools",
        "AskQuestionTool",
        "AskQuestionToolSchema",
        BaseAgentTool="CoworkerTool",
    ),
    "crewai.tools.agent_tools.base_agent_tools": {
        **rows("crewgraph.definitions.agent.delegation_tools", BaseAgentTool="CoworkerTool"),
        **rows("crewgraph.tools.base", "BaseTool"),
    },
    "crewai.tools.agent_tools.delegate_work_tool": rows(
        "crewgraph.definitions.agent.delegation_tools",
        "DelegateWorkToolSchema",
        BaseAgentTool="CoworkerTool",
        DelegateWorkTool="DelegateTaskTool",
    ),
    "crewai.tools.base_tool": {
        **rows("crewgraph.tools.base", "BaseTool", "EnvVar", "Tool", "tool"),
        **_STRUCTURED,
        **rows("crewgraph_compat.stand_ins.tools.native_calls", "to_langchain"),
    },
    "crewai.tools.mcp_native_tool": rows(_SERVER_TOOLS, "MCPNativeTool"),
    "crewai.tools.mcp_tool_wrapper": rows(
        _SERVER_TOOLS,
        "MCPToolWrapper",
        "MCP_CONNECTION_TIMEOUT",
        "MCP_DISCOVERY_TIMEOUT",
        "MCP_MAX_RETRIES",
        "MCP_TOOL_EXECUTION_TIMEOUT",
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
        **rows(
            "crewgraph_compat.stand_ins.tools.native_calls",
            "build_schema_hint",
            "format_description_for_llm",
            "strip_composite_description_prefix",
        ),
        **_STRUCTURED,
        **rows("crewgraph.tools.structured", ToolUsageLimitExceededError="UsageLimitReached"),
    },
}
"""The modules of this area."""
