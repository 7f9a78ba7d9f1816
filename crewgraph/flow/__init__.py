"""Flows: `from crewgraph.flow import Flow, start, listen, router, and_, or_, persist`."""

# The types of the names below, for type checkers, are in `__init__.pyi`.
# pyright: reportUnsupportedDunderAll=false

from importlib import import_module
from typing import Any, Final

from crewgraph.definitions.crew.pending import RunInfo
from crewgraph.definitions.flow.dsl import and_, listen, or_, router, start
from crewgraph.definitions.flow.feedback import (
    FlowConfig,
    HumanFeedbackPending,
    HumanFeedbackProvider,
    HumanFeedbackResult,
    InputProvider,
    InputResponse,
    PendingFeedbackContext,
    PendingFlow,
    Question,
    flow_config,
    human_feedback,
)
from crewgraph.definitions.flow.flow import Flow
from crewgraph.definitions.flow.method import (
    AndCondition,
    FlowCondition,
    ListenMethod,
    OrCondition,
    RouterMethod,
    StartMethod,
)
from crewgraph.definitions.flow.persistence import FlowPersistence, persist
from crewgraph.definitions.flow.run_methods import FlowPlot
from crewgraph.definitions.flow.state import FlowState
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
from crewgraph.runtime.flow.persistence import SQLiteFlowPersistence

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

_EXTRAS: Final[dict[str, str]] = {
    "AgentMessage": "crewgraph.contrib.conversations.state",
    "ChatState": "crewgraph.contrib.conversations.state",
    "ConversationConfig": "crewgraph.contrib.conversations.config",
    "ConversationEvent": "crewgraph.contrib.conversations.state",
    "ConversationMessage": "crewgraph.contrib.conversations.state",
    "ConversationState": "crewgraph.contrib.conversations.state",
    "ConversationalConfig": "crewgraph.contrib.conversations.config",
    "Expression": "crewgraph.contrib.declared.expression",
    "FlowDeclaration": "crewgraph.contrib.declared.flow",
    "RouterConfig": "crewgraph.contrib.conversations.config",
}
"""Names of extras, which are imported when they are used, each with its module."""


def __getattr__(name: str) -> Any:
    if name not in _EXTRAS:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    return getattr(import_module(_EXTRAS[name]), name)
