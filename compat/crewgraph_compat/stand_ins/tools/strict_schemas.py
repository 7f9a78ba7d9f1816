"""JSON schema transformations for strict providers, step by step; agents apply them automatically."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Final, cast

__all__ = [
    "OPENAI_SUPPORTED_FORMATS",
    "add_const_to_oneof_variants",
    "add_key_in_dict_recursively",
    "build_rich_field_description",
    "convert_oneof_to_anyof",
    "ensure_all_properties_required",
    "ensure_type_in_schemas",
    "fix_discriminator_mappings",
    "force_additional_properties_false",
    "lift_top_level_anyof",
    "resolve_refs",
    "sanitize_tool_params_for_anthropic_strict",
    "sanitize_tool_params_for_bedrock_strict",
    "sanitize_tool_params_for_openai_strict",
    "strip_null_from_types",
    "strip_unsupported_formats",
]

OPENAI_SUPPORTED_FORMATS: Final = {"date", "date-time", "duration", "time"}
"""String formats that OpenAI's strict schemas support."""

_NAMES: Final = ("properties", "$defs", "definitions", "patternProperties")
"""Keywords whose values are keyed by user-defined names."""

_NOTES: Final = {"title", "default", "examples", "example", "deprecated", "readOnly", "writeOnly"}
_BOUNDS: Final = {
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern"),
    *("minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties"),
}
_LABELS: Final = {
    "format": "Format",
    "enum": "Allowed values",
    "minimum": "Minimum",
    "maximum": "Maximum",
    "minLength": "Min length",
    "maxLength": "Max length",
    "pattern": "Pattern",
}
_SHOWN: Final = 3

_Schema = dict[str, Any]


def add_key_in_dict_recursively(
    d: _Schema, key: str, value: Any, criteria: Callable[[_Schema], bool], _seen: set[int] | None = None
) -> _Schema:
    """Add a key to each nested dict that meets a criterion, in place."""

    def put(node: _Schema) -> None:
        if criteria(node):
            node[key] = value

    return _everywhere(d, put)


def force_additional_properties_false(d: Any, _seen: set[int] | None = None) -> Any:
    """Disallow additional properties in all objects, in place."""

    def closed(node: _Schema) -> None:
        if node.get("type") == "object":
            node["additionalProperties"] = False
            node.setdefault("properties", {})
            node.setdefault("required", [])

    return _everywhere(d, closed)


def ensure_all_properties_required(schema: _Schema, _seen: set[int] | None = None) -> _Schema:
    """Make all properties of each object required, in place."""

    def requiring(node: _Schema) -> None:
        if node.get("type") == "object" and isinstance(node.get("properties"), dict):
            node["required"] = list(node["properties"])

    return _everywhere(schema, requiring)


def ensure_type_in_schemas(d: Any, _seen: set[int] | None = None) -> Any:
    """Replace empty alternatives with object schemas, in place."""

    def typed(node: _Schema) -> None:
        for choice in ("anyOf", "oneOf"):
            if isinstance(node.get(choice), list):
                node[choice] = [item or {"type": "object"} if isinstance(item, dict) else item for item in node[choice]]

    return _everywhere(d, typed)


def convert_oneof_to_anyof(schema: _Schema, _seen: set[int] | None = None) -> _Schema:
    """Convert `oneOf` to `anyOf`, in place."""

    def converted(node: _Schema) -> None:
        if "oneOf" in node:
            node["anyOf"] = node.pop("oneOf")

    return _everywhere(schema, converted)


def strip_null_from_types(schema: _Schema, _seen: set[int] | None = None) -> _Schema:
    """Remove null from types and alternatives unless nothing else is left, in place."""

    def stripped(node: _Schema) -> None:
        kinds: Any = node.get("type")
        if isinstance(kinds, list) and (left := [item for item in cast("list[Any]", kinds) if item != "null"]):
            node["type"] = left[0] if len(left) == 1 else left
        choices: Any = node.get("anyOf")
        if isinstance(choices, list):
            rest = [item for item in cast("list[Any]", choices) if item != {"type": "null"}]
            if len(rest) == 1:
                node.pop("anyOf")
                node.update(rest[0])
            elif rest:
                node["anyOf"] = rest

    return _everywhere(schema, stripped)


def strip_unsupported_formats(d: Any, _seen: set[int] | None = None) -> Any:
    """Remove string formats that OpenAI's strict schemas do not support, in place."""

    def stripped(node: _Schema) -> None:
        named = node.get("format")
        if isinstance(named, str) and named not in OPENAI_SUPPORTED_FORMATS:
            del node["format"]

    return _everywhere(d, stripped)


def lift_top_level_anyof(schema: _Schema) -> _Schema:
    """Replace a top-level `anyOf` with its object alternative, in place."""
    choices: Any = schema.get("anyOf")
    if isinstance(choices, list):
        objects = [item for item in cast("list[_Schema]", choices) if item.get("type") == "object"]
        if len(objects) == 1:
            schema.pop("anyOf")
            schema.update(objects[0])
    return schema


def fix_discriminator_mappings(schema: _Schema) -> _Schema:
    """Make discriminator mappings refer to the definitions of their alternatives, in place."""

    def fixed(node: _Schema) -> None:
        discriminator: _Schema = node.get("discriminator") or {}
        mapping: _Schema = discriminator.get("mapping") or {}
        refs = {
            str(item["$ref"]).rpartition("/")[2]: item["$ref"] for item in node.get("oneOf") or () if "$ref" in item
        }
        for value, ref in list(mapping.items()):
            mapping[value] = refs.get(str(ref).rpartition("/")[2], ref)

    return _everywhere(schema, fixed)


def add_const_to_oneof_variants(schema: _Schema) -> _Schema:
    """Return a schema whose titled alternatives have a constant discriminator value."""

    def add_const(node: _Schema) -> None:
        discriminator: _Schema = node.get("discriminator") or {}
        mapping: _Schema = discriminator.get("mapping") or {}
        by_title = {str(ref).rpartition("/")[2]: value for value, ref in mapping.items()}
        for item in cast("list[_Schema]", node.get("oneOf") or []):
            properties: dict[str, _Schema] = item.get("properties") or {}
            field = properties.get(str(discriminator.get("propertyName")))
            if field is not None and "const" not in field and item.get("title") in by_title:
                field["const"] = by_title[item["title"]]

    return _everywhere(deepcopy(schema), add_const)


def resolve_refs(schema: _Schema) -> _Schema:
    """Return a schema with its `$defs` inlined; recursive references become plain objects.

    Raises:
        KeyError: A referenced definition is missing.
    """
    return _resolved(deepcopy(schema), schema.get("$defs", {}), ())


def sanitize_tool_params_for_openai_strict(params: _Schema) -> _Schema:
    """Return tool parameters for OpenAI's strict mode; `params` is not changed."""
    return cast("_Schema", _without(_strict(params), _NOTES))


def sanitize_tool_params_for_anthropic_strict(params: _Schema) -> _Schema:
    """Return tool parameters for Anthropic's strict mode, without bounds."""
    return cast("_Schema", _without(_strict(params), _NOTES | _BOUNDS))


def sanitize_tool_params_for_bedrock_strict(params: _Schema) -> _Schema:
    """Return tool parameters for Bedrock's strict mode, without bounds."""
    return sanitize_tool_params_for_anthropic_strict(params)


def build_rich_field_description(prop_schema: _Schema) -> str:
    """Return a one-line description of a field and its constraints."""
    parts = [prop_schema["description"]] if prop_schema.get("description") else []
    parts += [f"{label}: {prop_schema[key]}" for key, label in _LABELS.items() if key in prop_schema]
    if examples := prop_schema.get("examples"):
        parts.append(f"Examples: {', '.join(repr(example) for example in examples[:_SHOWN])}")
    return ". ".join(parts)


def _strict(params: _Schema) -> _Schema:
    if not params:
        return {}
    schema = resolve_refs(params)
    schema.pop("$defs", None)
    schema = lift_top_level_anyof(convert_oneof_to_anyof(schema))
    force_additional_properties_false(ensure_type_in_schemas(schema))
    return strip_unsupported_formats(ensure_all_properties_required(schema))


def _everywhere(node: Any, change: Callable[[_Schema], Any]) -> Any:
    """Apply a change to a schema and all nested schemas, outermost first, skipping user-defined names."""
    if isinstance(node, list):
        for item in cast("list[Any]", node):
            _everywhere(item, change)
    elif isinstance(node, dict):
        result = cast("_Schema", node)
        change(result)
        for key, value in result.items():
            if key in _NAMES and isinstance(value, dict):
                for item in cast("_Schema", value).values():
                    _everywhere(item, change)
            else:
                _everywhere(value, change)
    return node  # pyright: ignore[reportUnknownVariableType]


def _resolved(node: Any, definitions: _Schema, above: tuple[str, ...]) -> Any:
    if isinstance(node, list):
        return [_resolved(item, definitions, above) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    result = cast("_Schema", node)
    ref = result.get("$ref")
    if not isinstance(ref, str) or not ref.startswith("#/$defs/"):
        return {
            key: value if key == "mapping" else _resolved(value, definitions, above) for key, value in result.items()
        }
    name = ref.removeprefix("#/$defs/")
    if name in above:
        return {"type": "object"}
    if name not in definitions:
        raise KeyError(f"the schema has no definition of `{name}`")
    return _resolved(deepcopy(definitions[name]), definitions, (*above, name))


def _without(node: Any, keys: set[str]) -> Any:
    if isinstance(node, list):
        return [_without(item, keys) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    return {
        key: _names_without(value, keys) if key in _NAMES and isinstance(value, dict) else _without(value, keys)
        for key, value in cast("_Schema", node).items()
        if key not in keys
    }


def _names_without(named: Any, keys: set[str]) -> _Schema:
    return {name: _without(item, keys) for name, item in cast("_Schema", named).items()}
