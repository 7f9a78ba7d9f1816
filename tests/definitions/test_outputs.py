"""Outputs of tasks and crews: their forms, and their conversion to plain data and back."""

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, Field, Json, RootModel, ValidationError, computed_field

from crewgraph import Agent, Crew, CrewOutput, ScriptedLLM, Task, TaskOutput, UsageMetrics


class Point(BaseModel):
    x: int


def output(**fields: Any) -> TaskOutput:
    given: dict[str, Any] = {"description": "Measure it", "agent": "Surveyor", "raw": "the text", **fields}
    return TaskOutput(**given)


def test_an_output_reads_as_its_model_else_its_dict_else_its_text():
    assert str(output(pydantic=Point(x=1), json_dict={"y": 2})) == "x=1"
    assert str(output(json_dict={"y": 2})) == "{'y': 2}"
    assert str(output()) == "the text"
    assert str(CrewOutput(raw="r", pydantic=Point(x=1), json_dict={"y": 2})) == "x=1"
    assert str(CrewOutput(raw="r", json_dict={"y": 2})) == "{'y': 2}"
    assert str(CrewOutput(raw="r")) == "r"


def test_to_dict_prefers_the_dict_and_is_empty_where_there_is_no_structure():
    assert output(pydantic=Point(x=1), json_dict={"y": 2}).to_dict() == {"y": 2}
    assert output(pydantic=Point(x=1)).to_dict() == {"x": 1}
    assert output().to_dict() == {}
    assert CrewOutput(pydantic=Point(x=1), json_dict={"y": 2}).to_dict() == {"y": 2}
    assert CrewOutput(raw="r").to_dict() == {}


def test_json_is_there_only_where_json_was_asked_for():
    assert output(json_dict={"y": 2}, output_format="json").json == '{"y": 2}'
    with pytest.raises(ValueError, match="the output of task `measure` is not JSON; give the task `output_json=`"):
        _ = output(name="measure", pydantic=Point(x=1), output_format="pydantic").json


def test_a_crews_output_is_read_by_field_from_the_model_then_from_the_dict():
    both = CrewOutput(pydantic=Point(x=1), json_dict={"x": 9, "y": 2})
    assert (both["x"], both["y"]) == (1, 2)
    with pytest.raises(KeyError, match="the output has no structured field `z`"):
        both["z"]
    with pytest.raises(KeyError):
        CrewOutput(raw="r")["raw"]


class Colour(Enum):
    RED = "red"


class Inner(BaseModel):
    code: int = Field(alias="Code")


class Everything(BaseModel):
    inner: Inner
    many: dict[str, list[Inner]]
    colour: Colour
    at: datetime
    day: date
    took: timedelta
    price: Decimal
    pair: tuple[int, str]
    unique: set[int]
    known_as: UUID
    blob: bytes
    extra: Json[dict[str, int]] | None = None
    nothing: None = None


EVERYTHING = Everything.model_validate(
    {
        "inner": {"Code": 3},
        "many": {"a": [{"Code": 1}, {"Code": 2}]},
        "colour": "red",
        "at": datetime(2025, 1, 2, 3, 4, 5, 678, tzinfo=UTC),
        "day": date(2025, 1, 2),
        "took": timedelta(seconds=2.5),
        "price": Decimal("1.10"),
        "pair": (1, "one"),
        "unique": {1, 2},
        "known_as": UUID(int=7),
        "blob": b"bytes",
        "extra": '{"a": 1}',
    }
)


class Strict(Everything):
    model_config = ConfigDict(strict=True, extra="forbid", serialize_by_alias=True)

    @computed_field
    @property
    def twice(self) -> int:
        return 2 * self.inner.code


GIVEN: dict[str, Any] = {**dict(EVERYTHING), "extra": '{"a": 1}'}
STRICT = Strict(**GIVEN)


class Numbers(RootModel[list[int]]):
    pass


@pytest.mark.parametrize(
    "model",
    [Point(x=1), EVERYTHING, STRICT, Numbers([1, 2]), Numbers([])],
    ids=["plain", "nested", "strict", "list", "empty list"],
)
def test_an_output_comes_back_from_plain_data_as_it_was(model: BaseModel):
    done = output(
        name="measure",
        expected_output="A number",
        pydantic=model,
        output_format="pydantic",
        usage=UsageMetrics(total_tokens=7),
    )
    stored = json.loads(json.dumps(done.to_plain()))
    back = TaskOutput.from_plain(stored, type(model))
    assert back == done
    assert type(back.pydantic) is type(model)


def test_without_its_model_an_output_has_no_structure_but_the_rest():
    back = TaskOutput.from_plain(output(pydantic=Point(x=1)).to_plain())
    assert (back.pydantic, back.raw) == (None, "the text")


def test_plain_data_is_checked_when_it_is_read():
    with pytest.raises(ValidationError):
        TaskOutput.from_plain({"description": "d", "agent": 5})
    with pytest.raises(ValidationError):
        TaskOutput.from_plain({**output(pydantic=Point(x=1)).to_plain(), "pydantic": {"x": "no number"}}, Point)


def test_numbers_that_json_does_not_know_come_back():
    class Ratio(BaseModel):
        value: float

    back = TaskOutput.from_plain(output(pydantic=Ratio(value=float("inf"))).to_plain(), Ratio)
    assert back.pydantic == Ratio(value=float("inf"))


def test_a_crew_and_its_tasks_are_written_as_json_before_and_after_a_run():
    worker = Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM(["fine"]))
    first = Task(description="d", expected_output="e", agent=worker, guardrail=_accept, callback=print)
    crew = Crew(agents=[worker], tasks=[first], checkpointer=False)
    before = json.loads(crew.model_dump_json())["tasks"][0]
    assert (before["context"], before["guardrail"], before["callback"]) == ("NOT_SPECIFIED", "_accept", "print")
    crew.kickoff()
    assert json.loads(first.model_dump_json())["output"]["raw"] == "fine"


def _accept(output: TaskOutput) -> tuple[bool, TaskOutput]:
    return True, output
