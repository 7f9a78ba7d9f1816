"""Every field of CrewAI 1.2.1 and of the specification's tables exists, with its default.

`fields.json` holds, for each class, the names of the fields and how their defaults are written.
"""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel

from crewgraph import (
    Agent,
    BaseAgent,
    ConditionalTask,
    Crew,
    CrewOutput,
    GuardrailResult,
    OutputFormat,
    Process,
    Task,
    TaskOutput,
    UsageMetrics,
)
from crewgraph.definitions.base import Fingerprint, SecurityConfig
from crewgraph.definitions.task.task import NOT_SPECIFIED
from crewgraph.prompts.i18n import I18N

TABLE: dict[str, dict[str, str]] = json.loads((Path(__file__).parent / "fields.json").read_text("utf-8"))

CLASSES: dict[str, type[BaseModel]] = {
    cls.__name__: cls
    for cls in (
        Agent,
        BaseAgent,
        ConditionalTask,
        Crew,
        CrewOutput,
        Fingerprint,
        GuardrailResult,
        SecurityConfig,
        Task,
        TaskOutput,
        UsageMetrics,
    )
}

TEXTS = "the texts of the prompts are a crew's and an agent's, not a field of each task"
DIFFERENT: dict[tuple[str, str], str] = {
    ("Task", "i18n"): TEXTS,
    ("ConditionalTask", "i18n"): TEXTS,
    ("Agent", "tools_handler"): "tool calls are counted and kept by the run, not by a handler of the agent",
    ("BaseAgent", "tools_handler"): "tool calls are counted and kept by the run, not by a handler of the agent",
}
"""Where we differ, and why."""


def written(cls: type[BaseModel], name: str) -> str:
    """How a field's default is written in the table."""
    field = cls.model_fields[name]
    if field.is_required():
        return "required"
    default: Any = field.get_default(call_default_factory=True, validated_data={})
    if isinstance(default, UUID):
        return "UUID()"
    if default is NOT_SPECIFIED:
        return "NOT_SPECIFIED"
    if isinstance(default, (SecurityConfig, Fingerprint, I18N, UsageMetrics)):
        return f"{type(default).__name__}()"
    if isinstance(default, (Process, OutputFormat)):
        return repr(default.value)
    return repr(default)


@pytest.mark.parametrize("owner", sorted(TABLE))
def test_every_field_of_1_2_1_is_there_with_its_default(owner: str):
    fields = {name: default for name, default in TABLE[owner].items() if (owner, name) not in DIFFERENT}
    cls = CLASSES[owner]
    ours = {name: written(cls, name) if name in cls.model_fields else "missing" for name in fields}
    assert ours == fields


def test_what_differs_from_1_2_1_really_differs():
    for owner, name in DIFFERENT:
        fields = CLASSES[owner].model_fields
        assert name not in fields or written(CLASSES[owner], name) != TABLE[owner][name], (owner, name)


@pytest.mark.filterwarnings("error")
def test_former_keywords_are_taken_without_a_word():
    agent = Agent(role="r", goal="g", backstory="b")
    former: dict[str, Any] = {"full_output": True, "language": "en", "language_file": None}
    texts: dict[str, Any] = {"i18n": None}
    task = Task(description="d", expected_output="e", agent=agent, **texts)
    crew = Crew(agents=[agent], tasks=[task], **former)
    assert crew.tasks == [task]


# ------------------------------------------------------------------------ the specification's tables, row by row
SPECIFIED: dict[str, dict[str, str]] = {
    "Task": {
        "id": "UUID()",
        "name": "None",
        "description": "required",
        "expected_output": "required",
        "agent": "None",
        "context": "NOT_SPECIFIED",
        "async_execution": "False",
        "output_json": "None",
        "output_pydantic": "None",
        "output_file": "None",
        "create_directory": "True",
        "output": "None",
        "tools": "[]",
        "security_config": "SecurityConfig()",
        "human_input": "False",
        "markdown": "False",
        "converter_cls": "None",
        "processed_by_agents": "set()",
        "guardrail": "None",
        "guardrails": "None",
        "guardrail_max_retries": "3",
        "retry_count": "0",
        "start_time": "None",
        "end_time": "None",
        "allow_crewai_trigger_context": "None",
    },
    "TaskOutput": {
        "description": "required",
        "name": "None",
        "expected_output": "None",
        "summary": "None",
        "raw": "''",
        "pydantic": "None",
        "json_dict": "None",
        "agent": "required",
        "output_format": "'raw'",
    },
    "Crew": {
        "id": "UUID()",
        "agents": "[]",
        "tasks": "[]",
        "process": "'sequential'",
        "verbose": "False",
        "memory": "False",
        "short_term_memory": "None",
        "long_term_memory": "None",
        "entity_memory": "None",
        "external_memory": "None",
        "contextual_memory": "False",
        "cache": "True",
        "cache_handler": "None",
        "knowledge": "None",
        "knowledge_sources": "None",
        "max_rpm": "None",
        "rpm_controller": "None",
        "prompt_file": "None",
        "i18n": "I18N()",
        "manager_llm": "None",
        "manager_agent": "None",
        "step_callback": "None",
        "task_callback": "None",
        "share_crew": "False",
        "inputs": "{}",
        "respect_context_window": "True",
        "planning": "False",
        "planning_tasks": "[]",
        "embedder": "None",
        "training": "False",
        "training_data": "{}",
    },
    "CrewOutput": {
        "raw": "''",
        "pydantic": "None",
        "json_dict": "None",
        "tasks_output": "[]",
        "token_usage": "UsageMetrics()",
    },
    "UsageMetrics": {
        "total_tokens": "0",
        "prompt_tokens": "0",
        "completion_tokens": "0",
        "successful_requests": "0",
    },
}
"""The rows of the specification.

Written otherwise there, with the same meaning: `verbose` 0 (False), `knowledge_sources` [] and `i18n` I18N() (None: nothing
was given); `agents` and `tasks` "required" is the rule that a crew without both is refused; `full_output` is the former
keyword tested above; a `manager_agent` is an agent.
"""


@pytest.mark.parametrize("owner", sorted(SPECIFIED))
def test_every_row_of_the_specification_is_a_field_with_its_default(owner: str):
    cls = CLASSES[owner]
    ours = {name: written(cls, name) if name in cls.model_fields else "missing" for name in SPECIFIED[owner]}
    assert ours == SPECIFIED[owner]


def test_the_summary_of_an_output_is_made_from_the_first_ten_words_of_its_description():
    output = TaskOutput(description="one two three four five six seven eight nine ten eleven", agent="a")
    assert output.summary == "one two three four five six seven eight nine ten..."


def test_execution_duration_is_the_seconds_between_start_and_end():
    from datetime import datetime, timedelta

    task = Task(description="d", expected_output="e")
    assert task.execution_duration is None
    task.start_time = datetime(2025, 1, 1)
    assert task.execution_duration is None
    task.end_time = task.start_time + timedelta(seconds=2.5)
    assert task.execution_duration == 2.5


def test_mutable_defaults_are_not_shared():
    first, second = (Task(description="d", expected_output="e") for _ in range(2))
    first.processed_by_agents.add("someone")
    assert second.processed_by_agents == set()
    assert first.id != second.id
    assert first.fingerprint != second.fingerprint
