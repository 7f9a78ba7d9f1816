import datetime
from copy import deepcopy
from typing import Any, Literal, get_args

import pytest
from crewgraph_compat.stand_ins.tools.schemas import (
    build_rich_field_description,
    create_model_from_schema,
    resolve_refs,
)
from pydantic import BaseModel, Field, ValidationError


class Place(BaseModel):
    name: str = Field(description="the port")
    depth: float | None = None


class Node(BaseModel):
    n: int
    below: list["Node"] = []


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (
            {"$ref": "#/$defs/A", "description": "d", "$defs": {"A": {"type": "object", "description": "own"}}},
            {"type": "object", "description": "own"},
        ),
        ({"a": {"$ref": "other.json"}}, {"a": {"$ref": "other.json"}}),
        (Node.model_json_schema(), None),
    ],
)
def test_definitions_are_put_in_their_places(given: dict[str, Any], made: dict[str, Any] | None):
    before = deepcopy(given)
    resolved = resolve_refs(given)
    assert given == before
    if made is None:
        assert resolved["properties"]["below"]["items"] == {"type": "object"}
    else:
        assert resolved == made


def test_a_definition_that_is_missing_is_told():
    with pytest.raises(KeyError, match="no definition of `N`"):
        resolve_refs({"$ref": "#/$defs/N"})


NULL = {"type": "null"}
TEXT = {"type": "string"}
BOUND: dict[str, Any] = {"type": "array", "minItems": 1, "items": {**TEXT, "pattern": "a"}, "default": [], "title": "Q"}


@pytest.mark.parametrize(
    ("field", "told"),
    [
        (
            {"description": "d", "type": "integer", "minimum": 1, "maximum": 5, "default": 2},
            "d. Minimum: 1. Maximum: 5",
        ),
        ({"enum": ["a", "b"], "description": "d"}, "d. Allowed values: ['a', 'b']"),
        ({"format": "date", "examples": ["x"], "pattern": "a+"}, "Format: date. Pattern: a+. Examples: 'x'"),
        ({"minLength": 1, "maxLength": 3}, "Min length: 1. Max length: 3"),
        ({"examples": ["a", "b", "c", "d"]}, "Examples: 'a', 'b', 'c'"),
        ({"minItems": 1}, ""),
    ],
)
def test_a_field_is_told_in_one_line(field: dict[str, Any], told: str):
    assert build_rich_field_description(field) == told


TOOL: dict[str, Any] = {
    "title": "Tide",
    "type": "object",
    "properties": {
        "a": {"type": "integer", "minimum": 1},
        "b": {**TEXT, "enum": ["x", "y"]},
        "c": {"type": "array", "items": {"type": "number"}},
        "d": {"type": "object", "properties": {"q": {"type": "integer"}}},
        "e": {"type": "boolean", "default": True},
        "g": {"const": 3},
        "h": {**TEXT, "format": "date-time"},
        "i": {"allOf": [{"properties": {"q": {"type": "integer"}}}]},
        "j": {"type": ["string", "null"]},
        "k": {"anyOf": [{"$ref": "#/$defs/P"}, NULL]},
        "l": {},
    },
    "required": ["a", "b", "h"],
    "$defs": {"P": {"type": "object", "properties": {"z": TEXT}, "title": "P"}},
}


def test_a_model_is_made_of_a_schema():
    model = create_model_from_schema(TOOL)
    made: Any = model(a=1, b="x", h="2020-01-01T00:00:00Z", d={"q": 2}, k={"z": "t"})
    assert (model.__name__, made.e, made.c, made.d.q, made.k.z) == ("Tide", True, None, 2, "t")
    assert made.h == datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    assert Literal["x", "y"] == model.model_fields["b"].annotation
    assert list[float] in get_args(model.model_fields["c"].annotation)
    for wrong in ({"a": 0}, {"b": "z"}, {"more": 1}):
        with pytest.raises(ValidationError):
            model(**{"a": 1, "b": "x", "h": "2020-01-01T00:00:00Z", **wrong})


def test_a_model_is_named_and_described_as_one_likes():
    model = create_model_from_schema(TOOL, model_name="X", enrich_descriptions=True)
    assert model.__name__ == "X"
    assert model.model_fields["a"].description == "Minimum: 1"
    assert create_model_from_schema({"type": "object"}).__name__ == "DynamicModel"
    base = create_model_from_schema({"properties": {"n": {"type": "integer"}}}, __base__=Place)
    assert issubclass(base, Place)
    assert set(base.model_fields) == {"name", "depth", "n"}


def test_a_type_that_is_none_is_told():
    with pytest.raises(ValueError, match="no type of JSON"):
        create_model_from_schema({"type": "object", "properties": {"a": {"type": "tide"}}})
