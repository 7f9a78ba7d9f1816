"""Events, the bus and listeners; `crewai.utilities.events` is where older releases had them."""

from crewgraph_compat.table.rows import rows

__all__ = ["MODULES"]

_BASE = rows("crewgraph.events.base", "BaseEvent")
_BUS = rows("crewgraph.events.bus", "crewai_event_bus")
_BUS_CLASS = rows("crewgraph.events.bus", CrewAIEventsBus="EventBus")
_DEPENDS = rows("crewgraph.events.depends", "Depends")
_CIRCULAR = rows("crewgraph.events.depends", "CircularDependencyError")
_LISTENER = rows("crewgraph.events.listener", "BaseEventListener")

_AGENT = rows(
    "crewgraph.events.agent",
    "AgentEvaluationCompletedEvent",
    "AgentEvaluationFailedEvent",
    "AgentEvaluationStartedEvent",
    "AgentExecutionCompletedEvent",
    "AgentExecutionErrorEvent",
    "AgentExecutionStartedEvent",
    "AgentStepEvent",
    "LiteAgentExecutionCompletedEvent",
    "LiteAgentExecutionErrorEvent",
    "LiteAgentExecutionStartedEvent",
)
_LOGGING = rows("crewgraph.events.agent", "AgentLogsExecutionEvent", "AgentLogsStartedEvent")
_CREW = rows(
    "crewgraph.events.crew",
    "CrewBaseEvent",
    "CrewCompletedEvent",
    "CrewFailedEvent",
    "CrewKickoffCompletedEvent",
    "CrewKickoffFailedEvent",
    "CrewKickoffStartedEvent",
    "CrewStartedEvent",
    "CrewTestCompletedEvent",
    "CrewTestFailedEvent",
    "CrewTestResultEvent",
    "CrewTestStartedEvent",
    "CrewTrainCompletedEvent",
    "CrewTrainFailedEvent",
    "CrewTrainStartedEvent",
)
_FLOW = rows(
    "crewgraph.events.flow",
    "FlowCreatedEvent",
    "FlowEvent",
    "FlowFailedEvent",
    "FlowFinishedEvent",
    "FlowInputReceivedEvent",
    "FlowInputRequestedEvent",
    "FlowPausedEvent",
    "FlowPlotEvent",
    "FlowStartedEvent",
    "HumanFeedbackReceivedEvent",
    "HumanFeedbackRequestedEvent",
    "MethodExecutionFailedEvent",
    "MethodExecutionFinishedEvent",
    "MethodExecutionPausedEvent",
    "MethodExecutionStartedEvent",
)
_GUARDRAIL = rows(
    "crewgraph.events.guardrail",
    "LLMGuardrailBaseEvent",
    "LLMGuardrailCompletedEvent",
    "LLMGuardrailFailedEvent",
    "LLMGuardrailStartedEvent",
)
_KNOWLEDGE = rows(
    "crewgraph.events.knowledge",
    "KnowledgeEventBase",
    "KnowledgeQueryCompletedEvent",
    "KnowledgeQueryFailedEvent",
    "KnowledgeQueryStartedEvent",
    "KnowledgeRetrievalCompletedEvent",
    "KnowledgeRetrievalStartedEvent",
    "KnowledgeSearchQueryFailedEvent",
)
_LLM = rows(
    "crewgraph.events.llm",
    "LLMCallCompletedEvent",
    "LLMCallFailedEvent",
    "LLMCallStartedEvent",
    "LLMCallType",
    "LLMEventBase",
    "LLMStreamChunkEvent",
)
_MODEL_CALLS = rows("crewgraph.events.llm", "FunctionCall", "ToolCall")
_MCP = rows(
    "crewgraph.events.mcp",
    "MCPConnectionCompletedEvent",
    "MCPConnectionFailedEvent",
    "MCPConnectionStartedEvent",
    "MCPEvent",
    "MCPToolExecutionCompletedEvent",
    "MCPToolExecutionFailedEvent",
    "MCPToolExecutionStartedEvent",
)
_MEMORY = rows(
    "crewgraph.events.memory",
    "MemoryBaseEvent",
    "MemoryQueryCompletedEvent",
    "MemoryQueryFailedEvent",
    "MemoryQueryStartedEvent",
    "MemoryRetrievalCompletedEvent",
    "MemoryRetrievalStartedEvent",
    "MemorySaveCompletedEvent",
    "MemorySaveFailedEvent",
    "MemorySaveStartedEvent",
)
_REASONING = rows(
    "crewgraph.events.reasoning",
    "AgentReasoningCompletedEvent",
    "AgentReasoningFailedEvent",
    "AgentReasoningStartedEvent",
    "ReasoningEvent",
)
_TASK = rows(
    "crewgraph.events.task", "TaskCompletedEvent", "TaskEvaluationEvent", "TaskFailedEvent", "TaskStartedEvent"
)
_TOOL = rows(
    "crewgraph.events.tool",
    "ToolExecutionErrorEvent",
    "ToolSelectionErrorEvent",
    "ToolUsageErrorEvent",
    "ToolUsageEvent",
    "ToolUsageFinishedEvent",
    "ToolUsageStartedEvent",
    "ToolValidateInputErrorEvent",
)

_TYPES = {
    "agent_events": {**_AGENT, **_BASE},
    "crew_events": {**_BASE, **_CREW},
    "flow_events": {**_BASE, **_FLOW},
    "knowledge_events": {**_BASE, **_KNOWLEDGE},
    "llm_events": {**_BASE, **_LLM, **_MODEL_CALLS},
    "llm_guardrail_events": {**_BASE, **_GUARDRAIL},
    "logging_events": {**_BASE, **_LOGGING},
    "mcp_events": {**_BASE, **_MCP},
    "memory_events": {**_BASE, **_MEMORY},
    "reasoning_events": {**_BASE, **_REASONING},
    "task_events": {**_BASE, **_TASK},
    "tool_usage_events": {**_BASE, **_TOOL},
}
_ALL = {
    **_AGENT,
    **_BASE,
    **_CREW,
    **_FLOW,
    **_GUARDRAIL,
    **_KNOWLEDGE,
    **_LLM,
    **_LOGGING,
    **_MCP,
    **_MEMORY,
    **_REASONING,
    **_TASK,
    **_TOOL,
}
_EVERYTHING = {**_ALL, **_BUS, **_CIRCULAR, **_DEPENDS, **_LISTENER}

MODULES: dict[str, dict[str, str]] = {
    "crewai.events": _EVERYTHING,
    "crewai.events.base_event_listener": {**_BUS, **_BUS_CLASS, **_LISTENER},
    "crewai.events.base_events": _BASE,
    "crewai.events.depends": {**_BASE, **_DEPENDS},
    "crewai.events.event_bus": {**_BASE, **_BUS, **_BUS_CLASS, **_DEPENDS},
    "crewai.events.event_types": _ALL,
    "crewai.events.handler_graph": {**_CIRCULAR, **_DEPENDS},
    "crewai.events.stream_context": rows(
        "crewgraph.events.stream_context", "add_stream_sink", "publish_stream_event", "reset_stream_sinks"
    ),
    "crewai.events.types": {},
    **{f"crewai.events.types.{name}": events for name, events in _TYPES.items()},
    "crewai.utilities.events": _EVERYTHING,
    "crewai.utilities.events.base_event_listener": {**_BUS, **_BUS_CLASS, **_LISTENER},
    "crewai.utilities.events.base_events": _BASE,
    "crewai.utilities.events.crewai_event_bus": {**_BASE, **_BUS, **_BUS_CLASS},
    "crewai.utilities.events.event_types": _ALL,
    **{f"crewai.utilities.events.{name}": events for name, events in _TYPES.items()},
}
"""The modules of this area."""
