"""JSON schemas for OpenAI's strict mode (`strict: true`), in which a model's answer always fits the schema."""

from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel

from crewgraph.schema import JsonSchema, json_schema

__all__ = ["strict_schema"]


class _NotExpressible(Exception):
    """The schema has no equivalent in strict mode."""


_KEYWORDS = frozenset(
    (
        "$defs",
        "$ref",
        "additionalProperties",
        "anyOf",
        "const",
        "default",
        "description",
        "enum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "items",
        "maxItems",
        "maximum",
        "minItems",
        "minimum",
        "multipleOf",
        "properties",
        "required",
        "type",
    )
)
_FORMATS = frozenset(("date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"))
_EMPTY: tuple[object, ...] = (None, "", [])
"""Defaults that a model may as well write as leave out."""


def strict_schema(model: type[BaseModel]) -> JsonSchema | None:
    """Return the schema of a pydantic model in which every object is closed and every field required.

    None if that would change what the model means: a dict with any keys, a field whose default the language model cannot know or
    write, or a keyword that OpenAI rejects.
    """
    schema = json_schema(model)
    try:
        return _strict(schema) if schema.get("type") == "object" else None
    except _NotExpressible:
        return None


def _strict(schema: JsonSchema) -> JsonSchema:
    if not schema.keys() <= _KEYWORDS or ("$ref" in schema and len(schema) > 1):
        raise _NotExpressible
    if not schema.keys() & {"$ref", "anyOf", "type"} or schema.get("format", "date") not in _FORMATS:
        raise _NotExpressible
    strict = {key: _strict_value(key, value) for key, value in schema.items() if key != "default"}
    return _closed(strict, schema) if schema.get("type") == "object" else strict


def _strict_value(key: str, value: Any) -> object:
    if key in ("$defs", "properties"):
        return {name: _strict(field) for name, field in value.items()}
    if key == "anyOf":
        return [_strict(choice) for choice in value]
    return _strict(value) if key == "items" else value


def _closed(strict: JsonSchema, schema: JsonSchema) -> JsonSchema:
    """Return an object's schema that names all of its fields."""
    fields = cast("Mapping[str, JsonSchema] | None", schema.get("properties"))
    if fields is None or schema.get("additionalProperties", False) is not False:
        raise _NotExpressible
    required = schema.get("required", ())
    if not all(name in required or _can_write_default(field) for name, field in fields.items()):
        raise _NotExpressible
    return {**strict, "required": list(fields), "additionalProperties": False}


def _can_write_default(field: JsonSchema) -> bool:
    """Whether a model that has nothing to say for an optional field can write its default instead of leaving it out."""
    if "default" not in field:
        return field.get("type") == "array"  # made by a function: an empty list
    default: object = field["default"]
    return default in _EMPTY and (default is not None or {"type": "null"} in field.get("anyOf", ()))
