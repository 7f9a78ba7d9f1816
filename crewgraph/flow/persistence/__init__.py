"""Where the states of flows are saved: `from crewgraph.flow.persistence import SQLiteFlowPersistence, persist`."""

from crewgraph.definitions.flow.feedback import PendingFeedbackContext
from crewgraph.definitions.flow.persistence import FlowPersistence, persist
from crewgraph.runtime.flow.persistence import SQLiteFlowPersistence

__all__ = ["FlowPersistence", "PendingFeedbackContext", "SQLiteFlowPersistence", "persist"]
