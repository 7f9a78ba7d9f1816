"""How an agent works: the loop of thought and action, the words it reads, the tools it uses."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]


_FINAL_ANSWER = rows("crewgraph.compiler.bodies.parser", "FINAL_ANSWER_ACTION")
_PARSER = {
    **rows("crewgraph.compiler.bodies.parser", "OutputParserError", "parse"),
    **rows("crewgraph.definitions.step", "AgentAction", "AgentFinish"),
}

MODULES: dict[str, dict[str, str]] = {
    "crewai.agents.constants": {
        **_FINAL_ANSWER,
    },
    "crewai.agents.parser": {
        **_FINAL_ANSWER,
        **_PARSER,
        **rows("crewgraph.compiler.bodies.parser", OutputParserException="OutputParserError"),
    },
    "crewai.agents.tools_handler": rows("crewgraph.tools.handler", "ToolsHandler"),
    "crewai.tools.tool_calling": {
        **rows("crewgraph.tools.handler", "ToolCalling"),
    },
}
"""The modules of this area."""
