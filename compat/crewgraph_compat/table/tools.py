"""Tools."""

from crewgraph_compat.table.rows import rows

__all__ = ["MODULES"]

_STRUCTURED = rows("crewgraph.tools.structured", "CrewStructuredTool")

MODULES: dict[str, dict[str, str]] = {
    "crewai.tools": rows("crewgraph.tools.base", "BaseTool", "EnvVar", "tool"),
    "crewai.tools.agent_tools": {},
    "crewai.tools.agent_tools.add_image_tool": {
        **rows("crewgraph.tools.image", "AddImageTool", "AddImageToolSchema"),
        **rows("crewgraph.tools.base", "BaseTool"),
    },
    "crewai.tools.base_tool": {**rows("crewgraph.tools.base", "BaseTool", "EnvVar", "Tool", "tool"), **_STRUCTURED},
    "crewai.tools.structured_tool": {
        **_STRUCTURED,
        **rows("crewgraph.tools.limit", ToolUsageLimitExceededError="UsageLimitReached"),
    },
}
"""The modules of this area."""
