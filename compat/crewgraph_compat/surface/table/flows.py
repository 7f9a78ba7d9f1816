"""Flows, their states and where these are saved."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_FLOW = rows("crewgraph.flow.flow", "Flow")
_STATE = rows("crewgraph.definitions.flow.state", "FlowState")
_DECORATORS = rows("crewgraph.definitions.flow.dsl", "and_", "listen", "or_", "router", "start")
_METHODS = rows("crewgraph_compat.stand_ins.flows.types", "FlowMethod", "ListenMethod", "RouterMethod", "StartMethod")
_PERSIST = rows("crewgraph.definitions.flow.persistence", "persist")
_PERSISTENCE = rows("crewgraph.definitions.flow.persistence", "FlowPersistence")
_SQLITE = rows("crewgraph.runtime.flow.persistence", "SQLiteFlowPersistence")
_PENDING = rows("crewgraph.definitions.flow.feedback", "PendingFeedbackContext")
_FEEDBACK = rows("crewgraph.definitions.flow.feedback", "HumanFeedbackResult", "human_feedback")
_PROVIDER = rows("crewgraph.definitions.flow.feedback", "HumanFeedbackProvider")
_BUILT = rows("crewgraph.contrib.declared.written", build_flow_definition="declaration_of")

MODULES: dict[str, dict[str, str]] = {
    "crewai.flow": {
        **_FLOW,
        **_DECORATORS,
        **_PERSIST,
        **_FEEDBACK,
        **_PROVIDER,
        **_PENDING,
        **rows("crewgraph_compat.stand_ins.flows.structure", "FlowStructure", "build_flow_structure"),
        **rows("crewgraph.contrib.declared.expression", "Expression"),
    },
    "crewai.flow.flow": {
        **rows("crewgraph.flow.flow", RuntimeFlow="Flow"),
        **_FLOW,
        **_STATE,
        **_DECORATORS,
        **_PERSISTENCE,
        **rows("crewgraph_compat.stand_ins.flows.state", "FlowMeta", "ensure_state_type"),
    },
    "crewai.flow.dsl": {**_DECORATORS, **_FEEDBACK, **_BUILT},
    "crewai.flow.flow_wrappers": {
        **_METHODS,
        **rows("crewgraph.definitions.flow.method", "FlowCondition"),
        **rows("crewgraph_compat.stand_ins.flows.types", "FlowConditionType", "FlowConditions", "SimpleFlowCondition"),
    },
    "crewai.flow.persistence": {
        **_PERSISTENCE,
        **_PERSIST,
        **_SQLITE,
        **rows("crewgraph_compat.stand_ins.flows.state", "DictStateType"),
    },
    "crewai.flow.persistence.base": _PERSISTENCE,
    "crewai.flow.persistence.sqlite": {
        **_PERSISTENCE,
        **_SQLITE,
        **rows("crewgraph_compat.stand_ins.storage.files", store_lock="lock"),
    },
}
"""A module of crewai to its names."""
