"""Flows: `from crewgraph.flow import Flow, start, listen, router, and_, or_, persist`."""

from crewgraph.definitions.flow.condition import AndCondition, FlowCondition, OrCondition
from crewgraph.definitions.flow.dsl import and_, listen, or_, router, start
from crewgraph.definitions.flow.feedback import (
    HumanFeedbackProvider,
    HumanFeedbackResult,
    PendingFlow,
    Question,
    human_feedback,
)
from crewgraph.definitions.flow.flow import Flow
from crewgraph.definitions.flow.flow_plot import FlowPlot
from crewgraph.definitions.flow.method import ListenMethod, RouterMethod, StartMethod
from crewgraph.definitions.flow.pending_feedback import PendingFeedbackContext
from crewgraph.definitions.flow.persistence import FlowPersistence, persist
from crewgraph.definitions.flow.state import FlowState
from crewgraph.definitions.flow.stream import (
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
from crewgraph.definitions.run_info import RunInfo
from crewgraph.runtime.sqlite_persistence import SQLiteFlowPersistence

__all__ = [
    "AndCondition",
    "Asked",
    "CrewFailed",
    "CrewFinished",
    "CrewStarted",
    "Flow",
    "FlowCondition",
    "FlowFinished",
    "FlowPaused",
    "FlowPersistence",
    "FlowPlot",
    "FlowStarted",
    "FlowState",
    "HumanFeedbackProvider",
    "HumanFeedbackResult",
    "ListenMethod",
    "MethodFailed",
    "MethodFinished",
    "MethodItem",
    "MethodStarted",
    "OrCondition",
    "PendingFeedbackContext",
    "PendingFlow",
    "Question",
    "RouterMethod",
    "RunInfo",
    "SQLiteFlowPersistence",
    "StartMethod",
    "and_",
    "human_feedback",
    "listen",
    "or_",
    "persist",
    "router",
    "start",
]
