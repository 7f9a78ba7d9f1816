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
        Agent, BaseAgent, ConditionalTask, Crew, CrewOutput, Fingerprint, GuardrailResult, SecurityConfig, Task,
        TaskOutput, UsageMetrics,
    )
}  # fmt: skip

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


def test_fields_of_crews_that_the_specification_alone_has_are_there():
    nothing = (
        "contextual_memory", "cache_handler", "rpm_controller", "inputs", "planning_tasks", "training",
        "training_data",
    )  # fmt: skip
    assert [written(Crew, name) for name in nothing] == ["False", "None", "None", "{}", "[]", "False", "{}"]
    assert (written(Crew, "i18n"), written(Crew, "respect_context_window")) == ("I18N()", "True")


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
