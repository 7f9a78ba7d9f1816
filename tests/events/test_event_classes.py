import inspect
import json
import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel, SecretStr

import crewgraph.events as events
from crewgraph.events import (
    AgentStepEvent,
    BaseEvent,
    LLMCallCompletedEvent,
    LLMCallFailedEvent,
    LLMCallStartedEvent,
    LLMCallType,
    LLMGuardrailCompletedEvent,
    TaskCompletedEvent,
    TaskStartedEvent,
    ToolUsageFinishedEvent,
)

FINGERPRINT = SimpleNamespace(uuid_str="f-1", metadata={"owner": "me"})
AGENT = SimpleNamespace(id=UUID(int=7), role="Researcher", llm="sk-secret", fingerprint=FINGERPRINT)
TASK = SimpleNamespace(id="t-1", name="research", description="Find out.", agent=AGENT)

KINDS = {
    "AgentExecutionCompletedEvent": "agent_execution_completed",
    "AgentExecutionErrorEvent": "agent_execution_error",
    "AgentExecutionStartedEvent": "agent_execution_started",
    "AgentLogsExecutionEvent": "agent_logs_execution",
    "AgentLogsStartedEvent": "agent_logs_started",
    "AgentReasoningCompletedEvent": "agent_reasoning_completed",
    "AgentReasoningFailedEvent": "agent_reasoning_failed",
    "AgentReasoningStartedEvent": "agent_reasoning_started",
    "AgentStepEvent": "agent_step",
    "CrewKickoffCompletedEvent": "crew_kickoff_completed",
    "CrewKickoffFailedEvent": "crew_kickoff_failed",
    "CrewKickoffPausedEvent": "crew_kickoff_paused",
    "CrewKickoffStartedEvent": "crew_kickoff_started",
    "CrewTestCompletedEvent": "crew_test_completed",
    "CrewTestFailedEvent": "crew_test_failed",
    "CrewTestResultEvent": "crew_test_result",
    "CrewTestStartedEvent": "crew_test_started",
    "CrewTrainCompletedEvent": "crew_train_completed",
    "CrewTrainFailedEvent": "crew_train_failed",
    "CrewTrainStartedEvent": "crew_train_started",
    "FlowCreatedEvent": "flow_created",
    "FlowFailedEvent": "flow_failed",
    "FlowFinishedEvent": "flow_finished",
    "FlowInputReceivedEvent": "flow_input_received",
    "FlowInputRequestedEvent": "flow_input_requested",
    "FlowPausedEvent": "flow_paused",
    "FlowPlotEvent": "flow_plot",
    "FlowStartedEvent": "flow_started",
    "HookDispatchedEvent": "hook_dispatched",
    "HumanFeedbackReceivedEvent": "human_feedback_received",
    "HumanFeedbackRequestedEvent": "human_feedback_requested",
    "HumanInputReceivedEvent": "human_input_received",
    "HumanInputRequestedEvent": "human_input_requested",
    "KnowledgeQueryCompletedEvent": "knowledge_query_completed",
    "KnowledgeQueryFailedEvent": "knowledge_query_failed",
    "KnowledgeQueryStartedEvent": "knowledge_query_started",
    "KnowledgeRetrievalCompletedEvent": "knowledge_search_query_completed",
    "KnowledgeRetrievalStartedEvent": "knowledge_search_query_started",
    "KnowledgeSearchQueryFailedEvent": "knowledge_search_query_failed",
    "LLMCallCompletedEvent": "llm_call_completed",
    "LLMCallDelayedEvent": "llm_call_delayed",
    "LLMFallbackEvent": "llm_fallback",
    "LLMCallFailedEvent": "llm_call_failed",
    "LLMCallStartedEvent": "llm_call_started",
    "LLMGuardrailCompletedEvent": "llm_guardrail_completed",
    "LLMGuardrailFailedEvent": "llm_guardrail_failed",
    "LLMGuardrailStartedEvent": "llm_guardrail_started",
    "LLMStreamChunkEvent": "llm_stream_chunk",
    "LLMThinkingChunkEvent": "llm_thinking_chunk",
    "LiteAgentExecutionCompletedEvent": "lite_agent_execution_completed",
    "LiteAgentExecutionErrorEvent": "lite_agent_execution_error",
    "LiteAgentExecutionStartedEvent": "lite_agent_execution_started",
    "MCPConnectionCompletedEvent": "mcp_connection_completed",
    "MCPConnectionFailedEvent": "mcp_connection_failed",
    "MCPConnectionStartedEvent": "mcp_connection_started",
    "MCPToolExecutionCompletedEvent": "mcp_tool_execution_completed",
    "MCPToolExecutionFailedEvent": "mcp_tool_execution_failed",
    "MCPToolExecutionStartedEvent": "mcp_tool_execution_started",
    "MemoryQueryCompletedEvent": "memory_query_completed",
    "MemoryQueryFailedEvent": "memory_query_failed",
    "MemoryQueryStartedEvent": "memory_query_started",
    "MemoryRetrievalCompletedEvent": "memory_retrieval_completed",
    "MemoryRetrievalStartedEvent": "memory_retrieval_started",
    "MemorySaveCompletedEvent": "memory_save_completed",
    "MemorySaveFailedEvent": "memory_save_failed",
    "MemorySaveStartedEvent": "memory_save_started",
    "MethodExecutionFailedEvent": "method_execution_failed",
    "MethodExecutionFinishedEvent": "method_execution_finished",
    "MethodExecutionPausedEvent": "method_execution_paused",
    "MethodExecutionStartedEvent": "method_execution_started",
    "TaskCompletedEvent": "task_completed",
    "TaskFailedEvent": "task_failed",
    "TaskOutputUnstructuredEvent": "task_output_unstructured",
    "TaskStartedEvent": "task_started",
    "ToolExecutionErrorEvent": "tool_execution_error",
    "ToolSelectionErrorEvent": "tool_selection_error",
    "ToolFailureDetectedEvent": "tool_failure_detected",
    "ToolUsageErrorEvent": "tool_usage_error",
    "ToolUsageFinishedEvent": "tool_usage_finished",
    "ToolUsageStartedEvent": "tool_usage_started",
    "ToolValidateInputErrorEvent": "tool_validate_input_error",
    "CheckpointCompletedEvent": "checkpoint_completed",
    "CheckpointFailedEvent": "checkpoint_failed",
    "CheckpointForkCompletedEvent": "checkpoint_fork_completed",
    "CheckpointForkStartedEvent": "checkpoint_fork_started",
    "CheckpointPrunedEvent": "checkpoint_pruned",
    "CheckpointRestoreCompletedEvent": "checkpoint_restore_completed",
    "CheckpointRestoreFailedEvent": "checkpoint_restore_failed",
    "CheckpointRestoreStartedEvent": "checkpoint_restore_started",
    "CheckpointStartedEvent": "checkpoint_started",
    "ContextWindowSummarizationCompletedEvent": "context_window_summarization_completed",
    "ContextWindowSummarizationFailedEvent": "context_window_summarization_failed",
    "ContextWindowSummarizationStartedEvent": "context_window_summarization_started",
    "MemoryRetrievalFailedEvent": "memory_retrieval_failed",
    "SkillActivatedEvent": "skill_activated",
    "SkillDiscoveryCompletedEvent": "skill_discovery_completed",
    "SkillDiscoveryStartedEvent": "skill_discovery_started",
    "SkillLoadFailedEvent": "skill_load_failed",
    "SkillLoadedEvent": "skill_loaded",
    "SkillUsedEvent": "skill_used",
    "GoalAchievedEarlyEvent": "goal_achieved_early",
    "PlanRefinementEvent": "plan_refinement",
    "PlanReplanTriggeredEvent": "plan_replan_triggered",
    "PlanStepCompletedEvent": "plan_step_completed",
    "PlanStepStartedEvent": "plan_step_started",
    "StepObservationCompletedEvent": "step_observation_completed",
    "StepObservationFailedEvent": "step_observation_failed",
    "StepObservationStartedEvent": "step_observation_started",
}


def kinds() -> dict[str, str]:
    found: dict[str, str] = {}
    for name in events.__all__:
        one = getattr(events, name)
        if inspect.isclass(one) and issubclass(one, BaseEvent) and one.model_fields["type"].default:
            default = one.model_fields["type"].default
            if isinstance(default, str):
                found[one.__name__] = default
    return found


def test_every_event_has_its_word():
    assert kinds() == KINDS


def test_the_package_exports_what_it_lists_and_the_list_is_sorted():
    assert list(events.__all__) == sorted(set(events.__all__))
    assert [name for name in events.__all__ if not hasattr(events, name)] == []


def test_an_event_knows_when_it_happened_in_utc():
    before = datetime.now(UTC)
    event = LLMCallFailedEvent(error="no")
    assert before <= event.timestamp <= datetime.now(UTC)
    assert event.timestamp.tzinfo is UTC


@pytest.mark.parametrize(
    "event",
    [
        TaskStartedEvent(task=TASK, context=None),
        LLMCallStartedEvent(from_task=TASK),
        AgentStepEvent(agent=AGENT, task=TASK, step="s", iteration=1),
        LLMGuardrailCompletedEvent(success=True, result="x", retry_count=0, from_task=TASK, from_agent=AGENT),
    ],
    ids=lambda event: event.type,
)
def test_who_and_what_it_is_about_is_filled_in(event: BaseEvent):
    assert (event.task_id, event.task_name) == ("t-1", "research")
    assert (event.agent_id, event.agent_role) == ("00000000-0000-0000-0000-000000000007", "Researcher")


# Dumping


class Colour(Enum):
    RED = "red"


class Answer(BaseModel):
    text: str
    key: SecretStr = SecretStr("sk-secret")
    parts: list[Any] = []


@dataclass
class Point:
    x: int
    y: float


class Plain:
    pass


class Worded:
    def __str__(self) -> str:
        return "worded"


def test_a_definition_is_dumped_as_who_it_is():
    dumped = ToolUsageFinishedEvent(
        tool_name="search",
        tool_args={"q": "x"},
        agent=AGENT,
        from_task=TASK,
        from_agent=AGENT,
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        finished_at=datetime(2026, 1, 1, 0, 0, 2, tzinfo=UTC),
        output="found",
    ).to_json()
    who = {"id": "00000000-0000-0000-0000-000000000007", "role": "Researcher"}
    assert dumped["agent"] == dumped["from_agent"] == who
    assert dumped["from_task"] == {"id": "t-1", "name": "research"}
    assert dumped["finished_at"] == "2026-01-01T00:00:02+00:00"
    assert "sk-secret" not in json.dumps(dumped)


@pytest.mark.parametrize(
    ("value", "dumped"),
    [
        (None, None),
        (True, True),
        (1.5, 1.5),
        (math.inf, "inf"),
        (Colour.RED, "red"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (timedelta(seconds=2), 2.0),
        (Path("a"), "a"),
        (b"abc", "<3 bytes>"),
        (ValueError("no"), "ValueError: no"),
        (len, "len"),
        (Plain, "Plain"),
        (Plain(), "<Plain>"),
        (Worded(), "worded"),
        (Point(1, 2.5), {"x": 1, "y": 2.5}),
        ((1, {2: {3}}), [1, {"2": [3]}]),
        (Answer(text="a", parts=[Point(1, 1.0)]), {"text": "a", "key": "**********", "parts": [{"x": 1, "y": 1.0}]}),
    ],
)
def test_any_value_becomes_json_data(value: Any, dumped: Any):
    event = TaskCompletedEvent(output=value)
    assert event.model_dump()["output"] == dumped
    assert event.model_dump(mode="json")["output"] == dumped
    assert json.loads(event.model_dump_json())["output"] == dumped


def test_a_value_that_holds_itself_is_cut():
    loop: list[Any] = [1]
    loop.append(loop)
    assert TaskCompletedEvent(output=loop).to_json()["output"] == [1, "..."]
    shared = [2]
    assert TaskCompletedEvent(output=[shared, shared]).to_json()["output"] == [[2], [2]]


def test_a_dumped_event_can_be_read_again():
    event = LLMCallCompletedEvent(
        response="hi", call_type=LLMCallType.LLM_CALL, usage={"total_tokens": 3}, from_agent=AGENT
    )
    again = LLMCallCompletedEvent.model_validate_json(event.model_dump_json())
    assert again.timestamp == event.timestamp
    assert again.call_type is LLMCallType.LLM_CALL
    assert (again.agent_role, again.usage) == ("Researcher", {"total_tokens": 3})
