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

OWN = {
    "AgentStepEvent": "agent_step",
    "CrewKickoffPausedEvent": "crew_kickoff_paused",
    "HumanInputReceivedEvent": "human_input_received",
    "HumanInputRequestedEvent": "human_input_requested",
    "LLMCallDelayedEvent": "llm_call_delayed",
    "LLMFallbackEvent": "llm_fallback",
    "LLMGuardrailFailedEvent": "llm_guardrail_failed",
    "TaskOutputUnstructuredEvent": "task_output_unstructured",
}


def test_every_event_that_crewai_does_not_have_has_its_word():
    """Those of CrewAI's are in the manifests of `tests/surface`."""
    assert {name: getattr(events, name).model_fields["type"].default for name in OWN} == OWN


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
