"""Flows: `from crewgraph.flow import Flow, start, listen, router, and_, or_, persist`."""

from crewgraph.definitions.declared.expression import Expression
from crewgraph.definitions.declared.flow import FlowDeclaration
from crewgraph.definitions.flow.condition import AndCondition, FlowCondition, OrCondition
from crewgraph.definitions.flow.conversation_config import ConversationalConfig, ConversationConfig, RouterConfig
from crewgraph.definitions.flow.conversation_state import (
    AgentMessage,
    ChatState,
    ConversationEvent,
    ConversationMessage,
    ConversationState,
)
from crewgraph.definitions.flow.dsl import and_, listen, or_, router, start
from crewgraph.definitions.flow.feedback import (
    HumanFeedbackProvider,
    HumanFeedbackResult,
    PendingFlow,
    Question,
    human_feedback,
)
from crewgraph.definitions.flow.flow import Flow
from crewgraph.definitions.flow.flow_config import FlowConfig, flow_config
from crewgraph.definitions.flow.flow_plot import FlowPlot
from crewgraph.definitions.flow.input_provider import InputProvider, InputResponse
from crewgraph.definitions.flow.method import ListenMethod, RouterMethod, StartMethod
from crewgraph.definitions.flow.pending_feedback import HumanFeedbackPending, PendingFeedbackContext
from crewgraph.definitions.flow.persistence import FlowPersistence, persist
from crewgraph.definitions.flow.state import FlowState
from crewgraph.definitions.run_info import RunInfo
from crewgraph.definitions.stream import (
    Asked,
    CrewFailed,
    CrewFinished,
    CrewStarted,
    FlowFinished,
    FlowPaused,
    FlowStarted,
    MethodFailed,
    MethodFinished,
    MethodItem,
    MethodStarted,
)
from crewgraph.runtime.sqlite_persistence import SQLiteFlowPersistence

__all__ = [
    "AgentMessage",
    "AndCondition",
    "Asked",
    "ChatState",
    "ConversationConfig",
    "ConversationEvent",
    "ConversationMessage",
    "ConversationState",
    "ConversationalConfig",
    "CrewFailed",
    "CrewFinished",
    "CrewStarted",
    "Expression",
    "Flow",
    "FlowCondition",
    "FlowConfig",
    "FlowDeclaration",
    "FlowFinished",
    "FlowPaused",
    "FlowPersistence",
    "FlowPlot",
    "FlowStarted",
    "FlowState",
    "HumanFeedbackPending",
    "HumanFeedbackProvider",
    "HumanFeedbackResult",
    "InputProvider",
    "InputResponse",
    "ListenMethod",
    "MethodFailed",
    "MethodFinished",
    "MethodItem",
    "MethodStarted",
    "OrCondition",
    "PendingFeedbackContext",
    "PendingFlow",
    "Question",
    "RouterConfig",
    "RouterMethod",
    "RunInfo",
    "SQLiteFlowPersistence",
    "StartMethod",
    "and_",
    "flow_config",
    "human_feedback",
    "listen",
    "or_",
    "persist",
    "router",
    "start",
]
