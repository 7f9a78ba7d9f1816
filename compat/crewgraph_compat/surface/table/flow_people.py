"""Feedback providers of flows, flow persistence, and the context of code called by a method."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_CONSOLE = rows("crewgraph_compat.stand_ins.console.terminal", "ConsoleProvider")
_PENDING = rows("crewgraph.definitions.flow.feedback", "HumanFeedbackPending", "PendingFeedbackContext")
_PROVIDER = rows("crewgraph.definitions.flow.feedback", "HumanFeedbackProvider")
_INPUT = rows("crewgraph.definitions.flow.feedback", "InputProvider", "InputResponse")
_FACTORY = rows("crewgraph_compat.stand_ins.flows.state", "default_flow_persistence")
_CURRENT = rows(
    "crewgraph.definitions.flow.state",
    "current_flow_defer_trace_finalization",
    "current_flow_id",
    "current_flow_method_name",
    "current_flow_name",
    "current_flow_request_id",
)

MODULES: dict[str, dict[str, str]] = {
    "crewai.flow.async_feedback": {**_PENDING, **_PROVIDER, **_CONSOLE},
    "crewai.flow.async_feedback.providers": _CONSOLE,
    "crewai.flow.async_feedback.types": {**_PENDING, **_PROVIDER},
    "crewai.flow.flow_config": rows("crewgraph.definitions.flow.feedback", "FlowConfig", "flow_config"),
    "crewai.flow.flow_context": _CURRENT,
    "crewai.flow.flow_trackable": rows("crewgraph_compat.stand_ins.flows.state", "FlowTrackable"),
    "crewai.flow.human_feedback": {
        **rows("crewgraph.definitions.flow.feedback", "HumanFeedbackResult", "human_feedback"),
        **rows(
            "crewgraph_compat.stand_ins.flows.types",
            "DistilledLessons",
            "HumanFeedbackCollapseError",
            "HumanFeedbackConfig",
            "PreReviewResult",
        ),
    },
    "crewai.flow.input_provider": _INPUT,
    "crewai.flow.persistence.decorators": {
        **rows("crewgraph.definitions.flow.persistence", "FlowPersistence", "persist"),
        **rows("crewgraph.runtime.flow.persistence", "SQLiteFlowPersistence"),
        **rows("crewgraph_compat.stand_ins.flows.state", "LOG_MESSAGES", "PersistenceDecorator"),
        **_FACTORY,
    },
    "crewai.flow.persistence.factory": {
        **_FACTORY,
        **rows("crewgraph.definitions.flow.persistence", "set_flow_persistence_factory"),
    },
}
"""A module of crewai to its names."""
