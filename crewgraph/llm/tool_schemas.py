"""Tool schemas for models whose LangChain class or client carries only a part of JSON schema.

langchain-google-genai fails on what Google's schemas do not know, and Ollama's client drops it without a word.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from crewgraph.core.messages import ToolSpec
from crewgraph.schema import JsonSchema

__all__ = ["tools_for"]


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
        schema = _described(schema, "One of: " + ", ".join(map(json.dumps, choices)))
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
        schema = _described(schema, f"JSON schema: {json.dumps(lost, ensure_ascii=False)}")
    return schema


def _has_structure(schema: JsonSchema) -> bool:
    fields = schema.get("additionalProperties")
    return (
        "properties" in schema
        or "prefixItems" in schema
        or (isinstance(fields, Mapping) and len(cast("Any", fields)) > 0)
    )


def _described(schema: JsonSchema, text: str) -> JsonSchema:
    return {**schema, "description": "\n".join(filter(None, (schema.get("description"), text)))}


_DIALECTS: Mapping[str, _Rewrite] = {
    "ChatGoogleGenerativeAI": _google_schema,
    "ChatVertexAI": _google_schema,
    "ChatOllama": _ollama_schema,
}
