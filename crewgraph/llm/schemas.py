"""JSON schemas as providers take them.

`strict_schema` is for OpenAI's strict mode (`strict: true`), in which a model's answer always fits the schema. `tools_for` is for
models whose LangChain class or client carries only a part of JSON schema: langchain-google-genai fails on what Google's schemas
do not know, and Ollama's client drops it without a word.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from crewgraph.core.messages import ToolSpec
from crewgraph.schema import JsonSchema, is_mapping, json_schema


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
        return _strict_part(schema) if schema.get("type") == "object" else None
    except _NotExpressible:
        return None


def _strict_part(schema: JsonSchema) -> JsonSchema:
    if not schema.keys() <= _KEYWORDS or ("$ref" in schema and len(schema) > 1):
        raise _NotExpressible
    if not schema.keys() & {"$ref", "anyOf", "type"} or schema.get("format", "date") not in _FORMATS:
        raise _NotExpressible
    strict = {key: _strict_value(key, value) for key, value in schema.items() if key != "default"}
    return _closed_object(strict, schema) if schema.get("type") == "object" else strict


def _strict_value(key: str, value: Any) -> object:
    if key in ("$defs", "properties"):
        return {name: _strict_part(field) for name, field in value.items()}
    if key == "anyOf":
        return [_strict_part(choice) for choice in value]
    return _strict_part(value) if key == "items" else value


def _closed_object(strict: JsonSchema, schema: JsonSchema) -> JsonSchema:
    """Return an object's schema that names all of its fields."""
    fields: Mapping[str, JsonSchema] | None = schema.get("properties")
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


def tools_for(model: object, tools: Sequence[ToolSpec]) -> Sequence[ToolSpec]:
    """Return tools with parameters that a LangChain model can send to its provider."""
    rewrite = next((rewrite for kind in type(model).__mro__ if (rewrite := _DIALECTS.get(kind.__name__))), None)
    if rewrite is None:
        return tools
    return [
        {**tool, "parameters": _with_properties(tool["parameters"], rewrite)}
        if "properties" in tool["parameters"]
        else tool
        for tool in tools
    ]


_Rewrite = Callable[[JsonSchema], JsonSchema]


def _with_properties(schema: JsonSchema, rewrite: _Rewrite) -> JsonSchema:
    return {**schema, "properties": {name: rewrite(field) for name, field in schema["properties"].items()}}


def _google_schema(schema: JsonSchema) -> JsonSchema:
    """Return a schema in which types are single names, enums texts, and every array has items."""
    schema = dict(schema)
    if "const" in schema:
        schema["enum"] = [schema.pop("const")]
    if isinstance(schema.get("type"), list):
        schema["anyOf"] = [{"type": name} for name in schema.pop("type")]
    choices = schema.get("enum")
    if choices is not None and not all(isinstance(choice, str) and choice for choice in choices):
        del schema["enum"]
        schema = _with_text(schema, "One of: " + ", ".join(map(json.dumps, choices)))
    if schema.get("type") == "array":
        positions = schema.pop("prefixItems", ())
        schema["items"] = _google_schema(schema.get("items") or _any_of(positions))
    for key in ("anyOf", "oneOf"):
        if key in schema:
            schema[key] = [_google_schema(choice) for choice in schema[key]]
    return _with_properties(schema, _google_schema) if "properties" in schema else schema


def _any_of(schemas: Sequence[JsonSchema]) -> JsonSchema:
    different = [schema for number, schema in enumerate(schemas) if schema not in schemas[:number]]
    return {"anyOf": different} if len(different) > 1 else different[0] if different else {}


def _ollama_schema(schema: JsonSchema) -> JsonSchema:
    """Return a schema whose type is given by name; Ollama's client keeps no more of a field than that, items, enum and text."""
    schema = dict(schema)
    if "const" in schema:
        schema["enum"] = [schema.pop("const")]
    choices: list[JsonSchema] = schema.get("anyOf", [])
    if choices and all(choice.keys() == {"type"} for choice in choices):
        names = [choice["type"] for choice in choices if choice["type"] != "null"]
        schema["type"] = names[0] if len(names) == 1 else names
    elif choices or _has_structure(schema):
        lost = {key: value for key, value in schema.items() if key not in ("description", "default", "title")}
        schema = _with_text(schema, f"JSON schema: {json.dumps(lost, ensure_ascii=False)}")
    return schema


def _has_structure(schema: JsonSchema) -> bool:
    fields = schema.get("additionalProperties")
    return "properties" in schema or "prefixItems" in schema or (is_mapping(fields) and len(fields) > 0)


def _with_text(schema: JsonSchema, text: str) -> JsonSchema:
    return {**schema, "description": "\n".join(filter(None, (schema.get("description"), text)))}


_DIALECTS: Mapping[str, _Rewrite] = {
    "ChatGoogleGenerativeAI": _google_schema,
    "ChatVertexAI": _google_schema,
    "ChatOllama": _ollama_schema,
}
