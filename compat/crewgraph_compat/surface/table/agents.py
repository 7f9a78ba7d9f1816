"""Agents on their own, and agents of other frameworks."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_ADAPTER = rows("crewgraph.contrib.adapters", "BaseAgentAdapter")
_BASE_AGENT = rows("crewgraph.agent", "BaseAgent")
_BASE_LLM = rows("crewgraph.llm.base", "BaseLLM")
_CONVERTER = rows("crewgraph.contrib.adapters", "BaseConverterAdapter")
_GUARDRAIL_TYPE = rows("crewgraph.definitions.task.guardrail", GuardrailType="Guardrail")
_LITE_AGENT = rows("crewgraph.contrib.lite_agent", "LiteAgent")
_LITE_OUTPUT = rows("crewgraph.definitions.agent.output", "LiteAgentOutput", "TodoExecutionResult")
_LLM = rows("crewgraph.llm.llm", "LLM")
_STEPS = rows("crewgraph.definitions.agent.last_run", "AgentAction", "AgentFinish")
_STRUCTURED_TOOL = rows("crewgraph.tools.structured", "CrewStructuredTool")
_TOOL = rows("crewgraph.tools.base", "BaseTool")
_TOOLS = rows("crewgraph.contrib.adapters", "BaseToolAdapter")
_BUS = rows("crewgraph.events.bus", "crewai_event_bus")

MODULES: dict[str, dict[str, str]] = {
    "crewai.agents.agent_adapters": {},
    "crewai.agents.agent_adapters.base_agent_adapter": {**_ADAPTER, **_BASE_AGENT},
    "crewai.agents.agent_adapters.base_converter_adapter": _CONVERTER,
    "crewai.agents.agent_adapters.base_tool_adapter": _TOOLS,
    "crewai.agents.agent_adapters.langgraph": {},
    "crewai.agents.agent_adapters.langgraph.langgraph_adapter": {
        **_ADAPTER,
        **_BASE_AGENT,
        **_TOOL,
        **rows(
            "crewgraph.contrib.adapters",
            "LangGraphAgentAdapter",
            "LangGraphConverterAdapter",
            "LangGraphToolAdapter",
        ),
        **_BUS,
    },
    "crewai.agents.agent_adapters.langgraph.langgraph_tool_adapter": {
        **_TOOL,
        **_TOOLS,
        **rows("crewgraph.contrib.adapters", "LangGraphToolAdapter"),
    },
    "crewai.agents.agent_adapters.langgraph.structured_output_converter": {
        **_CONVERTER,
        **rows("crewgraph.contrib.adapters", "LangGraphConverterAdapter"),
    },
    "crewai.agents.agent_adapters.openai_agents": {},
    "crewai.agents.agent_adapters.openai_agents.openai_adapter": {
        **_ADAPTER,
        **_BASE_AGENT,
        **_TOOL,
        **rows("crewgraph.contrib.adapters", "OpenAIAgentAdapter"),
        **_BUS,
    },
    "crewai.lite_agent": {
        **_BASE_AGENT,
        **_BASE_LLM,
        **_GUARDRAIL_TYPE,
        **_LITE_AGENT,
        **rows("crewgraph.definitions.agent.output", "LiteAgentOutput"),
        **_LLM,
        **_STEPS,
        **_STRUCTURED_TOOL,
        **_TOOL,
        **_BUS,
    },
    "crewai.lite_agent_output": _LITE_OUTPUT,
}
"""The modules of this area."""
