"""Events and telemetry that programs name, and that crewgraph never emits."""

from typing import Any, ClassVar, Self

from crewgraph.events.base import BaseEvent
from crewgraph.events.llm import LLMEventBase

__all__ = ["LLMThinkingChunkEvent", "MCPConfigFetchFailedEvent", "Telemetry"]


class LLMThinkingChunkEvent(LLMEventBase):
    """A piece of what a model thinks."""

    type: str = "llm_thinking_chunk"

    chunk: str
    """The piece."""

    response_id: str | None = None
    """The answer that it belongs to."""


class MCPConfigFetchFailedEvent(BaseEvent):
    """The settings of a server could not be had from the hosted platform."""

    type: str = "mcp_config_fetch_failed"

    slug: str
    """The server's name there."""

    error: str
    """What went wrong."""

    error_type: str | None = None
    """The class of the failure."""


class Telemetry:
    """What programs take apart so that nothing is sent; as it stands, nothing is, and all of its methods return None."""

    ready: bool = False
    trace_set: bool = False
    _instance: ClassVar["Telemetry | None"] = None

    def __new__(cls) -> Self:
        if not isinstance(cls._instance, cls):
            cls._instance = super().__new__(cls)
        return cls._instance

    def _is_telemetry_disabled(self) -> bool:
        return True

    def _should_execute_telemetry(self) -> bool:
        return False


def _nothing(self: Telemetry, *_given: Any, **_named: Any) -> None:
    """Nothing is sent."""


for _name in (
    *(
        "coding_agent_span",
        "create_crew_deployment_span",
        "crew_completed_span",
        "crew_creation",
        "crew_execution_span",
    ),
    *("deploy_signup_error_span", "end_crew", "env_context_span", "feature_usage_span", "flow_completed_span"),
    *("flow_creation_span", "flow_execution_span", "flow_method_failed_span", "flow_paused_span", "flow_plotting_span"),
    *("get_crew_logs_span", "hook_dispatched_span", "human_feedback_span", "individual_test_result_span"),
    *("remove_crew_span", "set_tracer", "start_deployment_span", "task_ended", "task_failed", "task_started"),
    *("template_installed_span", "test_execution_span", "tool_repeated_usage", "tool_usage", "tool_usage_error"),
):
    setattr(Telemetry, _name, _nothing)
