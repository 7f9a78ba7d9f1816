"""When snapshots of a run are made, where they are kept, and which one a run continues from."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast

from pydantic import BeforeValidator, Field, SerializeAsAny, model_validator

from crewgraph.contrib.snapshots.providers import BaseProvider, JsonProvider, SqliteProvider, detect_provider
from crewgraph.definitions.checkpoints import CheckpointSettings, apply_from_checkpoint, validate_checkpoint

__all__ = ["CheckpointConfig", "CheckpointEventType", "apply_checkpoint", "as_config", "config_of"]


CheckpointEventType = Literal[
    "task_started",
    "task_completed",
    "task_failed",
    "task_evaluation",
    "crew_kickoff_started",
    "crew_kickoff_completed",
    "crew_kickoff_failed",
    "crew_train_started",
    "crew_train_completed",
    "crew_train_failed",
    "crew_test_started",
    "crew_test_completed",
    "crew_test_failed",
    "crew_test_result",
    "agent_execution_started",
    "agent_execution_completed",
    "agent_execution_error",
    "lite_agent_execution_started",
    "lite_agent_execution_completed",
    "lite_agent_execution_error",
    "agent_evaluation_started",
    "agent_evaluation_completed",
    "agent_evaluation_failed",
    "flow_created",
    "flow_started",
    "flow_finished",
    "flow_failed",
    "flow_paused",
    "method_execution_started",
    "method_execution_finished",
    "method_execution_failed",
    "method_execution_paused",
    "human_feedback_requested",
    "human_feedback_received",
    "flow_input_requested",
    "flow_input_received",
    "llm_call_started",
    "llm_call_completed",
    "llm_call_failed",
    "llm_stream_chunk",
    "llm_thinking_chunk",
    "llm_guardrail_started",
    "llm_guardrail_completed",
    "llm_guardrail_failed",
    "tool_usage_started",
    "tool_usage_finished",
    "tool_usage_error",
    "tool_validate_input_error",
    "tool_selection_error",
    "tool_execution_error",
    "memory_save_started",
    "memory_save_completed",
    "memory_save_failed",
    "memory_query_started",
    "memory_query_completed",
    "memory_query_failed",
    "memory_retrieval_started",
    "memory_retrieval_completed",
    "memory_retrieval_failed",
    "knowledge_search_query_started",
    "knowledge_search_query_completed",
    "knowledge_query_started",
    "knowledge_query_completed",
    "knowledge_query_failed",
    "knowledge_search_query_failed",
    "agent_reasoning_started",
    "agent_reasoning_completed",
    "agent_reasoning_failed",
    "mcp_connection_started",
    "mcp_connection_completed",
    "mcp_connection_failed",
    "mcp_tool_execution_started",
    "mcp_tool_execution_completed",
    "mcp_tool_execution_failed",
    "mcp_config_fetch_failed",
    "step_observation_started",
    "step_observation_completed",
    "step_observation_failed",
    "plan_refinement",
    "plan_replan_triggered",
    "goal_achieved_early",
    "skill_discovery_started",
    "skill_discovery_completed",
    "skill_loaded",
    "skill_activated",
    "skill_load_failed",
    "agent_logs_started",
    "agent_logs_execution",
    "a2a_delegation_started",
    "a2a_delegation_completed",
    "a2a_conversation_started",
    "a2a_conversation_completed",
    "a2a_message_sent",
    "a2a_response_received",
    "a2a_polling_started",
    "a2a_polling_status",
    "a2a_push_notification_registered",
    "a2a_push_notification_received",
    "a2a_push_notification_sent",
    "a2a_push_notification_timeout",
    "a2a_streaming_started",
    "a2a_streaming_chunk",
    "a2a_agent_card_fetched",
    "a2a_authentication_failed",
    "a2a_artifact_received",
    "a2a_connection_error",
    "a2a_server_task_started",
    "a2a_server_task_completed",
    "a2a_server_task_canceled",
    "a2a_server_task_failed",
    "a2a_parallel_delegation_started",
    "a2a_parallel_delegation_completed",
    "a2a_transport_negotiated",
    "a2a_content_type_negotiated",
    "a2a_context_created",
    "a2a_context_expired",
    "a2a_context_idle",
    "a2a_context_completed",
    "a2a_context_pruned",
    "SIGTERM",
    "SIGINT",
    "SIGHUP",
    "SIGTSTP",
    "SIGCONT",
    "cc_env",
    "codex_env",
    "cursor_env",
    "default_env",
]
"""The types of events that a checkpoint can be made for."""


_FOLDER = "./.checkpoints"
_FILE = "./.checkpoints.db"
_PROVIDERS: dict[str, type[BaseProvider]] = {"json": JsonProvider, "sqlite": SqliteProvider}


def _provider(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    kind: Any = cast("dict[str, Any]", value).get("provider_type", "json")
    if kind not in _PROVIDERS:
        raise ValueError(f"`provider_type` is {kind!r}; there are {', '.join(_PROVIDERS)}")
    return _PROVIDERS[kind]()


class CheckpointConfig(CheckpointSettings):
    """When checkpoints of a run are made, and where they are kept.

    The run itself is stored beside them, effect by effect, in a database of its own: what continues from the latest checkpoint
    resumes where the run was stopped.
    """

    on_events: list[CheckpointEventType | Literal["*"]] = Field(default=["task_completed"])  # pyright: ignore[reportIncompatibleVariableOverride]
    """The types of the events that one is made for; "*" for all."""

    provider: Annotated[SerializeAsAny[BaseProvider], BeforeValidator(_provider)] = Field(default_factory=JsonProvider)
    """What stores them."""

    @model_validator(mode="after")
    def _in_a_file(self) -> Self:
        if isinstance(self.provider, SqliteProvider) and self.location == _FOLDER:
            self.location = _FILE
        return self

    @property
    def trigger_all(self) -> bool:
        """Whether one is made for each event."""
        return "*" in self.on_events

    @property
    def trigger_events(self) -> set[str]:
        """The types of the events."""
        return set(self.on_events)

    @property
    def runs(self) -> Path:
        """The database that the runs are kept in."""
        return self.provider.runs(self.location)

    @property
    def begun(self) -> Path:
        """The file that tells of the run that began last, which may have been stopped before its first checkpoint."""
        return Path(f"{self.runs}.begun")

    def found(self) -> tuple[str, BaseProvider | None]:
        """The checkpoint that is to be continued, and what reads it; None for the file of a run's beginning.

        Raises:
            ValueError: there is none.
        """
        if self.restore_from is not None:
            path = str(self.restore_from)
            return path, detect_provider(path)
        newest, begun = self.provider.newest(self.location), self.begun
        if newest is not None and not (begun.is_file() and _is_later(begun, Path(newest.rpartition("#")[0] or newest))):
            return newest, self.provider
        if begun.is_file():
            return str(begun), None
        raise ValueError(
            f"there is no checkpoint in {self.location!r}. Give `restore_from` the one that is to be taken up, or `location` the "
            "place they are in"
        )


def _is_later(path: Path, other: Path) -> bool:
    return path.stat().st_mtime_ns > other.stat().st_mtime_ns


def config_of(checkpoint: CheckpointSettings | bool | None) -> CheckpointConfig | None:
    """What a `checkpoint` field means; None where no checkpoints are made.

    Raises:
        DefinitionError: it is something else.
    """
    validate_checkpoint(checkpoint)
    if checkpoint is None or isinstance(checkpoint, bool):
        return CheckpointConfig() if checkpoint else None
    return as_config(checkpoint)


def as_config(settings: CheckpointSettings) -> CheckpointConfig:
    """The settings with what stores and finds the checkpoints."""
    if isinstance(settings, CheckpointConfig):
        return settings
    return CheckpointConfig.model_validate({name: getattr(settings, name) for name in settings.model_fields_set})


def apply_checkpoint(instance: Any, from_checkpoint: CheckpointSettings | None) -> Any:
    """What `kickoff(from_checkpoint=...)` comes to, for a crew, a flow or an agent.

    Returns:
        Another one, made of the checkpoint that is to be continued. None where there is nothing to continue: then a config
        is put into the instance's `checkpoint`.
    """
    if from_checkpoint is not None and from_checkpoint.restore_from is not None:
        return instance.__class__.from_checkpoint(from_checkpoint)
    apply_from_checkpoint(instance, from_checkpoint)
    return None
