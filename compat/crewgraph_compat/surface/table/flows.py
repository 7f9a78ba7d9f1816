"""Flows, their states and where these are saved."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_FLOW = rows("crewgraph.definitions.flow.flow", "Flow")
_STATE = rows("crewgraph.definitions.flow.state", "FlowState")
_DECORATORS = rows("crewgraph.definitions.flow.dsl", "and_", "listen", "or_", "router", "start")
_PERSIST = rows("crewgraph.definitions.flow.persistence", "persist")
_PERSISTENCE = rows("crewgraph.definitions.flow.persistence", "FlowPersistence")
_SQLITE = rows("crewgraph.runtime.sqlite_persistence", "SQLiteFlowPersistence")
_PENDING = rows("crewgraph.definitions.flow.pending_feedback", "PendingFeedbackContext")
_FEEDBACK = rows("crewgraph.definitions.flow.feedback", "HumanFeedbackResult", "human_feedback")
_PROVIDER = rows("crewgraph.definitions.flow.feedback", "HumanFeedbackProvider")
_BUILT = rows("crewgraph.definitions.declared.written", build_flow_definition="declaration_of")

MODULES: dict[str, dict[str, str]] = {
    "crewai.flow": {
        **_FLOW,
        **_DECORATORS,
        **_PERSIST,
        **_FEEDBACK,
        **_PROVIDER,
        **_PENDING,
        **rows("crewgraph.definitions.declared.expression", "Expression"),
    },
    "crewai.flow.flow": {
        **rows("crewgraph.definitions.flow.flow", RuntimeFlow="Flow"),
        **_FLOW,
        **_STATE,
        **_DECORATORS,
        **_PERSISTENCE,
    },
    "crewai.flow.dsl": {**_DECORATORS, **_FEEDBACK, **_BUILT},
    "crewai.flow.flow_wrappers": {
        **rows("crewgraph.definitions.flow.condition", "FlowCondition"),
    },
    "crewai.flow.persistence": {
        **_PERSISTENCE,
        **_PERSIST,
        **_SQLITE,
    },
    "crewai.flow.persistence.base": _PERSISTENCE,
    "crewai.flow.persistence.sqlite": {
        **_PERSISTENCE,
        **_SQLITE,
        **rows("crewgraph_compat.stand_ins.storage", store_lock="lock"),
    },
}
"""A module of crewai to its names."""
