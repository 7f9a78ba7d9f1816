import datetime
import json
from copy import deepcopy
from typing import Any, Literal, get_args

import pytest
from crewgraph_compat.stand_ins.tools.schemas import (
    create_model_from_schema,
    generate_model_description,
    serialize_model_class,
)
from crewgraph_compat.stand_ins.tools.strict_schemas import (
    add_const_to_oneof_variants,
    add_key_in_dict_recursively,
    build_rich_field_description,
    convert_oneof_to_anyof,
    ensure_all_properties_required,
    ensure_type_in_schemas,
    fix_discriminator_mappings,
    force_additional_properties_false,
    lift_top_level_anyof,
    resolve_refs,
    sanitize_tool_params_for_anthropic_strict,
    sanitize_tool_params_for_bedrock_strict,
    sanitize_tool_params_for_openai_strict,
    strip_null_from_types,
    strip_unsupported_formats,
)
from pydantic import BaseModel, Field, ValidationError

NULL = {"type": "null"}
TEXT = {"type": "string"}


class Place(BaseModel):
    name: str = Field(description="the port")
    depth: float | None = None


class Node(BaseModel):
    n: int
    below: list["Node"] = []


@pytest.mark.parametrize(
    ("change", "given", "made"),
    [
        (strip_null_from_types, {"type": ["null"]}, {"type": ["null"]}),
        (strip_null_from_types, {"type": ["string", "integer", "null"]}, {"type": ["string", "integer"]}),
        (strip_null_from_types, {"type": ["string", "null"]}, TEXT),
        (strip_null_from_types, {"anyOf": [NULL]}, {"anyOf": [NULL]}),
        (strip_null_from_types, {"anyOf": [TEXT, {"type": "integer"}, NULL]}, {"anyOf": [TEXT, {"type": "integer"}]}),
        (strip_null_from_types, {"anyOf": [{**TEXT, "title": "q"}, NULL], "title": "t"}, {"title": "q", **TEXT}),
        (strip_null_from_types, {"oneOf": [NULL, TEXT]}, {"oneOf": [NULL, TEXT]}),
        (convert_oneof_to_anyof, {"items": {"oneOf": [TEXT]}}, {"items": {"anyOf": [TEXT]}}),
        (ensure_type_in_schemas, {"anyOf": [{}, NULL]}, {"anyOf": [{"type": "object"}, NULL]}),
        (ensure_type_in_schemas, {"items": {}}, {"items": {}}),
        (lift_top_level_anyof, {"anyOf": [{"type": "object"}, NULL], "title": "T"}, {"title": "T", "type": "object"}),
        (lift_top_level_anyof, {"items": {"anyOf": [{"type": "object"}]}}, {"items": {"anyOf": [{"type": "object"}]}}),
        (strip_unsupported_formats, {**TEXT, "format": "uri"}, TEXT),
        (strip_unsupported_formats, {**TEXT, "format": "date"}, {**TEXT, "format": "date"}),
        (strip_unsupported_formats, {"properties": {"format": TEXT}}, {"properties": {"format": TEXT}}),
        (
            force_additional_properties_false,
            {"type": "object", "required": ["a"]},
            {"type": "object", "required": ["a"], "additionalProperties": False, "properties": {}},
        ),
        (force_additional_properties_false, {"properties": {"a": {}}}, {"properties": {"a": {}}}),
        (
            ensure_all_properties_required,
            {"type": "object", "properties": {"a": {}, "b": {}}},
            {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a", "b"]},
        ),
    ],
)
def test_a_schema_is_changed_in_place(change: Any, given: dict[str, Any], made: dict[str, Any]):
    schema = deepcopy(given)
    assert change(schema) is schema
    assert schema == made


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


def test_a_definition_that_is_missing_is_reported():
    with pytest.raises(KeyError, match="no definition of `N`"):
        resolve_refs({"$ref": "#/$defs/N"})


def test_keys_are_put_where_a_criterion_says():
    given = {"a": {"type": "x"}, "l": [{"type": "x"}, {"b": 1}]}
    made = add_key_in_dict_recursively(given, "k", 9, lambda one: one.get("type") == "x")
    assert made == {"a": {"type": "x", "k": 9}, "l": [{"type": "x", "k": 9}, {"b": 1}]}


def test_choices_say_which_value_they_stand_for():
    pet: dict[str, Any] = {"oneOf": [{"title": "Cat", "properties": {"kind": dict(TEXT)}}]}
    pet |= {"discriminator": {"propertyName": "kind", "mapping": {"cat": "#/$defs/Cat"}}}
    assert add_const_to_oneof_variants(pet)["oneOf"][0]["properties"]["kind"] == {**TEXT, "const": "cat"}
    assert "const" not in pet["oneOf"][0]["properties"]["kind"]
    named = {"oneOf": [{"$ref": "#/$defs/Cat"}], "discriminator": {"mapping": {"cat": "x/Cat", "dog": "x/Dog"}}}
    assert fix_discriminator_mappings(named)["discriminator"]["mapping"] == {"cat": "#/$defs/Cat", "dog": "x/Dog"}


BOUND: dict[str, Any] = {"type": "array", "minItems": 1, "items": {**TEXT, "pattern": "a"}, "default": [], "title": "Q"}


@pytest.mark.parametrize(
    ("sanitized", "left"),
    [
        (sanitize_tool_params_for_openai_strict, {"type": "array", "minItems": 1, "items": {**TEXT, "pattern": "a"}}),
        (sanitize_tool_params_for_anthropic_strict, {"type": "array", "items": TEXT}),
        (sanitize_tool_params_for_bedrock_strict, {"type": "array", "items": TEXT}),
    ],
)
def test_parameters_are_put_as_strict_providers_take_them(sanitized: Any, left: dict[str, Any]):
    made = sanitized({"type": "object", "properties": {"q": BOUND, "title": TEXT}, "title": "T"})
    assert made == {
        "type": "object",
        "properties": {"q": left, "title": TEXT},
        "additionalProperties": False,
        "required": ["q", "title"],
    }
    assert sanitized({}) == {}


@pytest.mark.parametrize(
    ("field", "reported"),
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
def test_a_field_is_reported_in_one_line(field: dict[str, Any], reported: str):
    assert build_rich_field_description(field) == reported


def test_a_model_is_told_in_openais_form():
    reported = generate_model_description(Place)
    assert reported["type"] == "json_schema"
    assert reported["json_schema"]["name"] == "Place"
    schema = reported["json_schema"]["schema"]
    assert (schema["required"], schema["additionalProperties"]) == (["name", "depth"], False)
    assert schema["properties"]["depth"]["type"] == "number"
    stored = generate_model_description(Place, strip_null_types=False)["json_schema"]["schema"]
    assert stored["properties"]["depth"]["anyOf"] == [{"type": "number"}, NULL]
    assert serialize_model_class(Place) == Place.model_json_schema()
    assert serialize_model_class(5) == 5


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


def test_a_type_that_is_none_is_reported():
    with pytest.raises(ValueError, match="not a JSON type"):
        create_model_from_schema({"type": "object", "properties": {"a": {"type": "tide"}}})


def test_schemas_stay_json():
    assert json.loads(json.dumps(generate_model_description(Node)))["json_schema"]["strict"] is True
