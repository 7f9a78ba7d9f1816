"""Flows, their states and where these are saved."""

from crewgraph_compat.table.rows import rows

__all__ = ["MODULES"]

_FLOW = rows("crewgraph.definitions.flow.flow", "Flow")
_STATE = rows("crewgraph.definitions.flow.state", "FlowState")
_DECORATORS = rows("crewgraph.definitions.flow.dsl", "and_", "listen", "or_", "router", "start")
_METHODS = rows("crewgraph.definitions.flow.method", "FlowMethod", "ListenMethod", "RouterMethod", "StartMethod")
_PERSIST = rows("crewgraph.definitions.flow.persistence", "persist")
_PERSISTENCE = rows("crewgraph.definitions.flow.persistence", "FlowPersistence")
_SQLITE = rows("crewgraph.runtime.sqlite_persistence", "SQLiteFlowPersistence")
_PENDING = rows("crewgraph.definitions.flow.pending_feedback", "PendingFeedbackContext")
_FEEDBACK = rows("crewgraph.definitions.flow.feedback", "HumanFeedbackResult", "human_feedback")
_PROVIDER = rows("crewgraph.definitions.flow.feedback", "HumanFeedbackProvider")

MODULES: dict[str, dict[str, str]] = {
    "crewai.flow": {**_FLOW, **_DECORATORS, **_PERSIST, **_FEEDBACK, **_PROVIDER, **_PENDING},
    "crewai.flow.flow": {**_FLOW, **_STATE, **_DECORATORS, **_PERSISTENCE},
    "crewai.flow.dsl": {**_DECORATORS, **_FEEDBACK},
    "crewai.flow.flow_wrappers": {**_METHODS, **rows("crewgraph.definitions.flow.condition", "FlowCondition")},
    "crewai.flow.human_feedback": _FEEDBACK,
    "crewai.flow.async_feedback": _PENDING,
    "crewai.flow.async_feedback.types": _PENDING,
    "crewai.flow.persistence": {**_PERSISTENCE, **_PERSIST, **_SQLITE},
    "crewai.flow.persistence.base": _PERSISTENCE,
    "crewai.flow.persistence.decorators": {**_PERSISTENCE, **_PERSIST, **_SQLITE},
    "crewai.flow.persistence.sqlite": {**_PERSISTENCE, **_SQLITE},
}
"""A module of crewai to its names."""
