"""Which flow and method runs around some code."""

from contextvars import ContextVar

__all__ = [
    "current_flow_defer_trace_finalization",
    "current_flow_id",
    "current_flow_method_name",
    "current_flow_name",
    "current_flow_request_id",
]

current_flow_id: ContextVar[str | None] = ContextVar("flow_id", default=None)
"""The run: the `id` of its state."""

current_flow_request_id: ContextVar[str | None] = ContextVar("flow_request_id", default=None)
"""The outermost run, where a method of one flow kicks off another."""

current_flow_name: ContextVar[str | None] = ContextVar("flow_name", default=None)
"""The flow's name."""

current_flow_method_name: ContextVar[str] = ContextVar("flow_method_name", default="unknown")
"""The method."""

current_flow_defer_trace_finalization: ContextVar[bool] = ContextVar("flow_defers_trace", default=False)
"""Always False: each run is a trace of its own."""
