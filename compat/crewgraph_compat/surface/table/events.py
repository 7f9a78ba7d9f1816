"""Events, the bus and listeners; `crewai.utilities.events` is where older releases had them."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_BASE = rows("crewgraph.events.base", "BaseEvent")
_BUS = rows("crewgraph.events.bus", "crewai_event_bus", "is_replaying")
_BUS_CLASS = rows("crewgraph_compat.stand_ins.events", "CrewAIEventsBus")
_HANDLING = {
    **rows("crewgraph.events.bus", "Handler"),
    **rows("crewgraph_compat.stand_ins.events", "ExecutionPlan"),
    **rows("crewgraph_compat.stand_ins.events", "AsyncHandler", "AsyncHandlerSet", "SyncHandler", "SyncHandlerSet"),
    **rows(
        "crewgraph.events.lineage",
        SCOPE_ENDING_EVENTS="ENDS",
        SCOPE_STARTING_EVENTS="STARTS",
        VALID_EVENT_PAIRS="ENDINGS",
    ),
}
_DEPENDS = rows("crewgraph.events.bus", "Depends")
_CIRCULAR = rows("crewgraph.events.bus", "CircularDependencyError")
_LISTENER = rows("crewgraph.events.bus", "BaseEventListener")

_AGENT = rows(
    "crewgraph.events.agent",
    "AgentExecutionCompletedEvent",
    "AgentExecutionErrorEvent",
    "AgentExecutionStartedEvent",
    "AgentStepEvent",
    "LiteAgentExecutionCompletedEvent",
    "LiteAgentExecutionErrorEvent",
    "LiteAgentExecutionStartedEvent",
) | rows(
    "crewgraph.events.training",
    "AgentEvaluationCompletedEvent",
    "AgentEvaluationFailedEvent",
    "AgentEvaluationStartedEvent",
)
_CHECKPOINT = rows(
    "crewgraph.events.checkpoint",
    "CheckpointBaseEvent",
    "CheckpointCompletedEvent",
    "CheckpointFailedEvent",
    "CheckpointForkBaseEvent",
    "CheckpointForkCompletedEvent",
    "CheckpointForkStartedEvent",
    "CheckpointPrunedEvent",
    "CheckpointRestoreBaseEvent",
    "CheckpointRestoreCompletedEvent",
    "CheckpointRestoreFailedEvent",
    "CheckpointRestoreStartedEvent",
    "CheckpointStartedEvent",
)
_CONTEXT_WINDOW = rows(
    "crewgraph.events.llm",
    "ContextWindowSummarizationCompletedEvent",
    "ContextWindowSummarizationEvent",
    "ContextWindowSummarizationFailedEvent",
    "ContextWindowSummarizationStartedEvent",
)
_OBSERVATION = rows(
    "crewgraph.events.planning",
    "GoalAchievedEarlyEvent",
    "ObservationEvent",
    "PlanRefinementEvent",
    "PlanReplanTriggeredEvent",
    "PlanStepCompletedEvent",
    "PlanStepEvent",
    "PlanStepStartedEvent",
    "StepObservationCompletedEvent",
    "StepObservationFailedEvent",
    "StepObservationStartedEvent",
)
_A2A = {
    **rows(
        "crewgraph.events.a2a",
        "A2AAgentCardFetchedEvent",
        "A2AArtifactReceivedEvent",
        "A2AAuthenticationFailedEvent",
        "A2AConnectionErrorEvent",
        "A2AConversationCompletedEvent",
        "A2AConversationStartedEvent",
        "A2ADelegationCompletedEvent",
        "A2ADelegationStartedEvent",
        "A2AEventBase",
        "A2AMessageSentEvent",
        "A2APollingStartedEvent",
        "A2APollingStatusEvent",
        "A2APushNotificationRegisteredEvent",
        "A2APushNotificationTimeoutEvent",
        "A2AResponseReceivedEvent",
        "A2AStreamingChunkEvent",
        "A2AStreamingStartedEvent",
    ),
    **rows("crewgraph_compat.stand_ins.events", "A2APushNotificationReceivedEvent"),
    **rows(
        "crewgraph_compat.stand_ins.a2a_events",
        "A2AContentTypeNegotiatedEvent",
        "A2AContextCompletedEvent",
        "A2AContextCreatedEvent",
        "A2AContextExpiredEvent",
        "A2AContextIdleEvent",
        "A2AContextPrunedEvent",
        "A2AParallelDelegationCompletedEvent",
        "A2AParallelDelegationStartedEvent",
        "A2APushNotificationSentEvent",
        "A2AServerTaskCanceledEvent",
        "A2AServerTaskCompletedEvent",
        "A2AServerTaskFailedEvent",
        "A2AServerTaskStartedEvent",
        "A2ATransportNegotiatedEvent",
    ),
}
_SYSTEM = rows(
    "crewgraph.events.system",
    "SIGNAL_EVENT_TYPES",
    "SigContEvent",
    "SigHupEvent",
    "SigIntEvent",
    "SigTStpEvent",
    "SigTermEvent",
    "SignalEvent",
    "SignalType",
    "on_signal",
)
_LOGGING = rows("crewgraph.events.agent", "AgentLogsExecutionEvent", "AgentLogsStartedEvent")
_CONVERSATION = rows(
    "crewgraph.events.flow",
    "ConversationMessageAddedEvent",
    "ConversationRouteSelectedEvent",
    "ConversationTurnCompletedEvent",
    "ConversationTurnFailedEvent",
    "ConversationTurnStartedEvent",
)
_CREW = rows(
    "crewgraph.events.crew",
    "CrewBaseEvent",
    "CrewCompletedEvent",
    "CrewFailedEvent",
    "CrewKickoffCompletedEvent",
    "CrewKickoffFailedEvent",
    "CrewKickoffStartedEvent",
    "CrewStartedEvent",
) | rows(
    "crewgraph.events.training",
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
    "crewgraph.events.people",
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
    "LLMThinkingChunkEvent",
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
) | rows("crewgraph_compat.stand_ins.events", "MCPConfigFetchFailedEvent")
_MEMORY = rows(
    "crewgraph.events.knowledge",
    "MemoryBaseEvent",
    "MemoryQueryCompletedEvent",
    "MemoryQueryFailedEvent",
    "MemoryQueryStartedEvent",
    "MemoryRetrievalCompletedEvent",
    "MemoryRetrievalFailedEvent",
    "MemoryRetrievalStartedEvent",
    "MemorySaveCompletedEvent",
    "MemorySaveFailedEvent",
    "MemorySaveStartedEvent",
)
_REASONING = rows(
    "crewgraph.events.planning",
    "AgentReasoningCompletedEvent",
    "AgentReasoningFailedEvent",
    "AgentReasoningStartedEvent",
    "ReasoningEvent",
)
_TASK = rows("crewgraph.events.task", "TaskCompletedEvent", "TaskFailedEvent", "TaskStartedEvent") | rows(
    "crewgraph_compat.stand_ins.events", "TaskEvaluationEvent"
)
_TOOL = rows(
    "crewgraph.events.tool",
    "ToolExecutionErrorEvent",
    "ToolSelectionErrorEvent",
    "ToolFailureDetectedEvent",
    "ToolUsageErrorEvent",
    "ToolUsageEvent",
    "ToolUsageFinishedEvent",
    "ToolUsageStartedEvent",
    "ToolValidateInputErrorEvent",
)

_TYPES = {
    "a2a_events": {**_A2A, **_BASE},
    "agent_events": {**_AGENT, **_BASE},
    "checkpoint_events": {**_BASE, **_CHECKPOINT},
    "crew_events": {**_BASE, **_CREW},
    "flow_events": {**_BASE, **_CONVERSATION, **_FLOW},
    "knowledge_events": {**_BASE, **_KNOWLEDGE},
    "llm_events": {**_BASE, **_CONTEXT_WINDOW, **_LLM, **_MODEL_CALLS},
    "llm_guardrail_events": {**_BASE, **_GUARDRAIL},
    "logging_events": {**_BASE, **_LOGGING},
    "mcp_events": {**_BASE, **_MCP},
    "memory_events": {**_BASE, **_MEMORY},
    "reasoning_events": {**_BASE, **_REASONING},
    "system_events": {**_BASE, **_SYSTEM},
    "task_events": {**_BASE, **_TASK},
    "tool_usage_events": {**_BASE, **_TOOL},
    "hook_events": {**_BASE, **rows("crewgraph.events.hooks", "HookDispatchedEvent")},
}
_ALL = {
    **_A2A,
    **_AGENT,
    **_BASE,
    **_CHECKPOINT,
    **_CONTEXT_WINDOW,
    **_CONVERSATION,
    **_CREW,
    **_FLOW,
    **_GUARDRAIL,
    **_KNOWLEDGE,
    **_LLM,
    **_LOGGING,
    **_MCP,
    **_MEMORY,
    **_OBSERVATION,
    **_REASONING,
    **_TASK,
    **_TOOL,
}
_EVERYTHING = {**_ALL, **_BUS, **_CIRCULAR, **_DEPENDS, **_LISTENER}

MODULES: dict[str, dict[str, str]] = {
    "crewai.events": _EVERYTHING,
    "crewai.events.base_event_listener": {**_BUS, **_BUS_CLASS, **_LISTENER},
    "crewai.events.event_bus": {
        **_BASE,
        **_BUS,
        **_BUS_CLASS,
        **_DEPENDS,
        **_HANDLING,
    },
    "crewai.events.event_types": {**_ALL, **rows("crewgraph_compat.stand_ins.events", "EventTypes")},
    "crewai.events.stream_context": rows(
        "crewgraph.events.stream_context", "add_stream_sink", "publish_stream_event", "reset_stream_sinks"
    ),
    "crewai.events.types": {},
    **{f"crewai.events.types.{name}": events for name, events in _TYPES.items()},
    "crewai.utilities.events": _EVERYTHING,
    "crewai.utilities.events.base_event_listener": {**_BUS, **_BUS_CLASS, **_LISTENER},
    "crewai.utilities.events.base_events": _BASE,
    "crewai.utilities.events.crewai_event_bus": {**_BASE, **_BUS, **_BUS_CLASS},
    "crewai.utilities.events.event_types": {**_ALL, **rows("crewgraph_compat.stand_ins.events", "EventTypes")},
    **{f"crewai.utilities.events.{name}": events for name, events in _TYPES.items()},
}
"""The modules of this area."""
