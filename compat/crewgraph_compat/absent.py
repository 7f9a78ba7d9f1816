"""Names of crewai that are deliberately not offered, each with the reason and what to do instead."""

__all__ = ["ABSENT", "reason"]

_TELEMETRY = "crewgraph sends no telemetry; take the import out."
_PLATFORM = "It serves CrewAI's hosted platform, with which crewgraph has nothing to do."
_COMMANDS = "It holds CrewAI's own commands; crewgraph's are listed by `crewgraph --help`."
_HANDLER = "The run counts and keeps tool calls itself; give a `cache_handler` to keep results elsewhere."
_PROVIDERS = 'Models are LangChain chat models: write `LLM(model="provider/model")`, or pass a chat model as `llm`.'
_MCP = "Runs open sessions with MCP servers themselves: give `mcps=[...]` to an agent, or ask it, `agent.get_mcp_tools([...])`."
_TRACING = "Runs are traced with LangSmith (LANGSMITH_TRACING=true), or by listeners on `crewai.events`."
_STORES = "Memory and knowledge keep their vectors with FAISS, not in this store."
_EMBEDDERS = 'An embedder is `{"provider": ..., "config": {...}}`, a function of texts, or a LangChain `Embeddings`.'
_OWN_STORAGE = (
    "Memory keeps its records itself; give `Memory(storage=...)` a path, a LangGraph store or a `StorageBackend`."
)
_WAYS = "A memory remembers and recalls without flows: `Memory().remember(...)`, `Memory().recall(...)`."
_EXECUTORS = (
    "The loop of an agent is no object here; `agent_executor=` takes a LangChain runnable, a graph or a function."
)
_OPENAI = "An agent of OpenAI's framework works as a function: `Agent(..., agent_executor=function)`."

ABSENT: dict[str, str] = {
    "crewai.Telemetry": _TELEMETRY,
    "crewai.agents.ToolsHandler": _HANDLER,
    "crewai.agents.agent_adapters.openai_agents.openai_agent_tool_adapter": _OPENAI,
    "crewai.agents.agent_adapters.openai_agents.structured_output_converter": _OPENAI,
    "crewai.agents.agent_builder.base_agent_executor": _EXECUTORS,
    "crewai.agents.agent_builder.base_agent_executor_mixin": _EXECUTORS,
    "crewai.agents.agent_executor": _EXECUTORS,
    "crewai.agents.crew_agent_executor": _EXECUTORS,
    "crewai.agents.tools_handler": _HANDLER,
    "crewai.auth": _PLATFORM,
    "crewai.cli": _COMMANDS,
    "crewai.events.listeners.tracing": _TRACING,
    "crewai.llms.providers": _PROVIDERS,
    "crewai.llms.third_party": _PROVIDERS,
    "crewai.mcp.BaseTransport": _MCP,
    "crewai.mcp.MCPClient": _MCP,
    "crewai.mcp.MCPToolResolver": _MCP,
    "crewai.mcp.TransportType": _MCP,
    "crewai.mcp.client": _MCP,
    "crewai.mcp.tool_resolver": _MCP,
    "crewai.mcp.transports": _MCP,
    "crewai.memory.EncodingFlow": _WAYS,
    "crewai.memory.encoding_flow": _WAYS,
    "crewai.memory.recall_flow": _WAYS,
    "crewai.memory.storage.factory": _OWN_STORAGE,
    "crewai.memory.storage.kickoff_task_outputs_storage": "Runs are kept by a checkpointer; see `crew.runs` and `crew.replay`.",
    "crewai.memory.storage.lancedb_storage": _OWN_STORAGE,
    "crewai.memory.storage.qdrant_edge_storage": _OWN_STORAGE,
    "crewai.mypy": "crewgraph is typed without a plugin for mypy; take it out of mypy's settings.",
    "crewai.plus_api": _PLATFORM,
    "crewai.rag.chromadb": _STORES,
    "crewai.rag.core.base_embeddings_provider": _EMBEDDERS,
    "crewai.rag.embeddings.providers.oracle": _EMBEDDERS,
    "crewai.rag.qdrant": _STORES,
    "crewai.telemetry": _TELEMETRY,
    "crewai.tools.mcp_native_tool": _MCP,
    "crewai.tools.mcp_tool_wrapper": _MCP,
}
"""A dotted path to why neither it nor anything below it is there: whole sentences."""


def reason(path: str) -> str | None:
    """Why a dotted path is deliberately absent; None where it is not."""
    while path:
        if path in ABSENT:
            return ABSENT[path]
        path = path.rpartition(".")[0]
    return None
