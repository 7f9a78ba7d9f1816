"""Event scopes and the execution context."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_LINEAGE = "crewgraph.events.lineage"
_BASE = rows("crewgraph.events.base", "BaseEvent")
_PAIRS = rows(
    "crewgraph.events.lineage", SCOPE_ENDING_EVENTS="ENDS", SCOPE_STARTING_EVENTS="STARTS", VALID_EVENT_PAIRS="ENDINGS"
)
_PAIRING = rows(
    "crewgraph.events.lineage",
    "EmptyStackError",
    "EventContextConfig",
    "EventPairingError",
    "MismatchBehavior",
    "StackDepthExceededError",
    _event_context_config="PAIRING",
    handle_empty_pop="report_empty_pop",
    handle_mismatch="report_mismatch",
)
_SCOPES = rows(
    _LINEAGE,
    "event_scope",
    "resume_task_scope",
    get_current_parent_id="scope_event",
    get_enclosing_parent_id="enclosing_event",
    get_last_event_id="last_event",
    get_triggering_event_id="trigger",
    pop_event_scope="pop_scope",
    push_event_scope="push_scope",
    reset_last_event_id="forget_last_event",
    restore_event_scope="restore_scopes",
    set_last_event_id="set_last_event",
    set_triggering_event_id="set_trigger",
    triggered_by_scope="triggered_by",
)
_NUMBERS = rows(
    _LINEAGE,
    get_emission_sequence="latest_number",
    get_next_emission_sequence="next_number",
    reset_emission_counter="reset_numbers",
    set_emission_counter="set_number",
)
_HANDLERS = rows(
    "crewgraph_compat.stand_ins.events", "AsyncHandler", "AsyncHandlerSet", "SyncHandler", "SyncHandlerSet"
)
_HANDLER = rows("crewgraph.events.bus", "Handler")
_PLAN = rows("crewgraph_compat.stand_ins.events", "ExecutionPlan", "HandlerGraph", "build_execution_plan")

MODULES: dict[str, dict[str, str]] = {
    "crewai.context": {
        **rows(
            "crewgraph_compat.stand_ins.context",
            "ExecutionContext",
            "apply_execution_context",
            "capture_execution_context",
            "get_current_task_id",
            "get_platform_integration_token",
            "platform_context",
            "reset_current_task_id",
            "set_current_task_id",
            "set_platform_integration_token",
        ),
        **rows(
            "crewgraph.definitions.flow.state",
            "current_flow_id",
            "current_flow_method_name",
            "current_flow_request_id",
        ),
    },
    "crewai.events.base_events": {**_BASE, **_NUMBERS},
    "crewai.events.depends": {
        **_BASE,
        **rows("crewgraph.events.bus", "Depends"),
        **rows("crewgraph_compat.stand_ins.events", "EventHandler"),
    },
    "crewai.events.event_context": {**_PAIRS, **_PAIRING, **_SCOPES},
    "crewai.events.handler_graph": {
        **rows("crewgraph.events.bus", "CircularDependencyError"),
        **_HANDLER,
        **_PLAN,
    },
    "crewai.events.types.event_bus_types": {
        **_BASE,
        **_HANDLER,
        **_HANDLERS,
        **rows("crewgraph_compat.stand_ins.events", "ExecutionPlan"),
    },
    "crewai.events.utils": {},
    "crewai.events.utils.handlers": rows(
        "crewgraph_compat.stand_ins.events", "AsyncHandler", "SyncHandler", "is_async_handler", "is_call_handler_safe"
    ),
    "crewai.execution": rows(
        "crewgraph_compat.stand_ins.context",
        "ExecutionTrace",
        "begin_execution",
        "clear_execution_uuid",
        "end_execution",
        "get_execution_uuid",
        "set_execution_uuid",
    ),
}
"""The modules of this area."""
