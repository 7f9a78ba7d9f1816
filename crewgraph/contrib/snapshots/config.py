"""Checkpoint configuration: when snapshots are written, where they are stored, and which one a run continues from."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast

from pydantic import BeforeValidator, Field, SerializeAsAny, model_validator

from crewgraph.contrib.snapshots.providers import BaseProvider, JsonProvider, SqliteProvider, detect_provider
from crewgraph.definitions.checkpoints import CheckpointSettings, apply_from_checkpoint, validate_checkpoint
from crewgraph.schema import PlainDict

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
"""Types of events that can trigger a checkpoint."""


_FOLDER = "./.checkpoints"
_FILE = "./.checkpoints.db"
_PROVIDERS: dict[str, type[BaseProvider]] = {"json": JsonProvider, "sqlite": SqliteProvider}


def _provider(value: Any) -> object:
    if not isinstance(value, dict):
        return value
    kind = cast("PlainDict", value).get("provider_type", "json")
    if kind not in _PROVIDERS:
        raise ValueError(f"unknown `provider_type` {kind!r}; available: {', '.join(_PROVIDERS)}")
    return _PROVIDERS[kind]()


class CheckpointConfig(CheckpointSettings):
    """When checkpoints of a run are written, and where they are stored.

    The run itself is stored next to them, effect by effect, in its own database: continuing from the latest checkpoint resumes
    where the run stopped.
    """

    on_events: list[CheckpointEventType | Literal["*"]] = Field(default=["task_completed"])  # pyright: ignore[reportIncompatibleVariableOverride]
    """Types of events that trigger a checkpoint; "*" for all."""

    provider: Annotated[SerializeAsAny[BaseProvider], BeforeValidator(_provider)] = Field(default_factory=JsonProvider)
    """The storage backend."""

    @model_validator(mode="after")
    def _in_a_file(self) -> Self:
        if isinstance(self.provider, SqliteProvider) and self.location == _FOLDER:
            self.location = _FILE
        return self

    @property
    def trigger_all(self) -> bool:
        """Whether every event triggers a checkpoint."""
        return "*" in self.on_events

    @property
    def trigger_events(self) -> set[str]:
        """The event types that trigger a checkpoint."""
        return set(self.on_events)

    @property
    def runs(self) -> Path:
        """The database in which the runs are stored."""
        return self.provider.runs(self.location)

    @property
    def begun(self) -> Path:
        """The file that describes the latest started run, which may have stopped before its first checkpoint."""
        return Path(f"{self.runs}.begun")

    def resolve(self) -> tuple[str, BaseProvider | None]:
        """Return the checkpoint to continue and its provider, which is None for the file of a started run.

        Raises:
            ValueError: If there is none.
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
            f"there is no checkpoint in {self.location!r}. Set `restore_from` to the checkpoint to continue from, or `location` "
            "to the place where they are stored"
        )


def _is_later(path: Path, other: Path) -> bool:
    return path.stat().st_mtime_ns > other.stat().st_mtime_ns


def config_of(checkpoint: CheckpointSettings | bool | None) -> CheckpointConfig | None:
    """Return the config of a `checkpoint` field; None if no checkpoints are written.

    Raises:
        DefinitionError: If the value is not a valid checkpoint setting.
    """
    validate_checkpoint(checkpoint)
    if checkpoint is None or isinstance(checkpoint, bool):
        return CheckpointConfig() if checkpoint else None
    return as_config(checkpoint)


def as_config(settings: CheckpointSettings) -> CheckpointConfig:
    """Return the settings as a `CheckpointConfig`, which can store and find checkpoints."""
    if isinstance(settings, CheckpointConfig):
        return settings
    return CheckpointConfig.model_validate({name: getattr(settings, name) for name in settings.model_fields_set})


def apply_checkpoint(instance: Any, from_checkpoint: CheckpointSettings | None) -> Any:
    """Apply `kickoff(from_checkpoint=...)` to a crew, a flow or an agent.

    Returns:
        A new instance restored from the checkpoint; None if there is no checkpoint to restore, in which case the config is
        set as the instance's `checkpoint`.
    """
    if from_checkpoint is not None and from_checkpoint.restore_from is not None:
        return instance.__class__.from_checkpoint(from_checkpoint)
    apply_from_checkpoint(instance, from_checkpoint)
    return None
