"""JSON schemas put as strict providers want them, step by step; models of crewgraph's agents are told theirs by itself."""

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
"""Formats of texts that OpenAI's strict schemas may name."""

_NAMES: Final = ("properties", "$defs", "definitions", "patternProperties")
"""Keys whose values have names of the user's for keys."""

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
    """Put a key into each dict within, and of lists, that meets a criterion; in place."""

    def put(node: _Schema) -> None:
        if criteria(node):
            node[key] = value

    return _everywhere(d, put)


def force_additional_properties_false(d: Any, _seen: set[int] | None = None) -> Any:
    """Let no object have more than its properties; in place."""

    def closed(node: _Schema) -> None:
        if node.get("type") == "object":
            node["additionalProperties"] = False
            node.setdefault("properties", {})
            node.setdefault("required", [])

    return _everywhere(d, closed)


def ensure_all_properties_required(schema: _Schema, _seen: set[int] | None = None) -> _Schema:
    """Have each object require all of its properties; in place."""

    def requiring(node: _Schema) -> None:
        if node.get("type") == "object" and isinstance(node.get("properties"), dict):
            node["required"] = list(node["properties"])

    return _everywhere(schema, requiring)


def ensure_type_in_schemas(d: Any, _seen: set[int] | None = None) -> Any:
    """Put objects in the place of empty choices; in place."""

    def typed(node: _Schema) -> None:
        for choice in ("anyOf", "oneOf"):
            if isinstance(node.get(choice), list):
                node[choice] = [item or {"type": "object"} if isinstance(item, dict) else item for item in node[choice]]

    return _everywhere(d, typed)


def convert_oneof_to_anyof(schema: _Schema, _seen: set[int] | None = None) -> _Schema:
    """Let any choice do where one of several had to; in place."""

    def converted(node: _Schema) -> None:
        if "oneOf" in node:
            node["anyOf"] = node.pop("oneOf")

    return _everywhere(schema, converted)


def strip_null_from_types(schema: _Schema, _seen: set[int] | None = None) -> _Schema:
    """Take null out of types and choices, where something is left; in place."""

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
    """Take out formats that OpenAI's strict schemas may not name; in place."""

    def stripped(node: _Schema) -> None:
        named = node.get("format")
        if isinstance(named, str) and named not in OPENAI_SUPPORTED_FORMATS:
            del node["format"]

    return _everywhere(d, stripped)


def lift_top_level_anyof(schema: _Schema) -> _Schema:
    """Put the object among the choices of a schema in the place of these; in place."""
    choices: Any = schema.get("anyOf")
    if isinstance(choices, list):
        objects = [item for item in cast("list[_Schema]", choices) if item.get("type") == "object"]
        if len(objects) == 1:
            schema.pop("anyOf")
            schema.update(objects[0])
    return schema


def fix_discriminator_mappings(schema: _Schema) -> _Schema:
    """Let discriminators name the definitions that their choices refer to; in place."""

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
    """A schema whose choices with a title say which value of the discriminator they stand for."""

    def told(node: _Schema) -> None:
        discriminator: _Schema = node.get("discriminator") or {}
        mapping: _Schema = discriminator.get("mapping") or {}
        by_title = {str(ref).rpartition("/")[2]: value for value, ref in mapping.items()}
        for item in cast("list[_Schema]", node.get("oneOf") or []):
            properties: dict[str, _Schema] = item.get("properties") or {}
            field = properties.get(str(discriminator.get("propertyName")))
            if field is not None and "const" not in field and item.get("title") in by_title:
                field["const"] = by_title[item["title"]]

    return _everywhere(deepcopy(schema), told)


def resolve_refs(schema: _Schema) -> _Schema:
    """A schema with its `$defs` in their places; where one recurs, an object.

    Raises:
        KeyError: there is no definition of a name.
    """
    return _resolved(deepcopy(schema), schema.get("$defs", {}), ())


def sanitize_tool_params_for_openai_strict(params: _Schema) -> _Schema:
    """The parameters of a tool as OpenAI's strict mode takes them; `params` stays as it is."""
    return cast("_Schema", _without(_strict(params), _NOTES))


def sanitize_tool_params_for_anthropic_strict(params: _Schema) -> _Schema:
    """The parameters of a tool as Anthropic's strict mode takes them: without bounds, too."""
    return cast("_Schema", _without(_strict(params), _NOTES | _BOUNDS))


def sanitize_tool_params_for_bedrock_strict(params: _Schema) -> _Schema:
    """The parameters of a tool as Bedrock's strict mode takes them: without bounds, too."""
    return sanitize_tool_params_for_anthropic_strict(params)


def build_rich_field_description(prop_schema: _Schema) -> str:
    """What a field is for, and what it may hold, in one line."""
    parts = [prop_schema["description"]] if prop_schema.get("description") else []
    parts += [f"{label}: {prop_schema[key]}" for key, label in _LABELS.items() if key in prop_schema]
    if examples := prop_schema.get("examples"):
        parts.append(f"Examples: {', '.join(repr(example) for example in examples[:_SHOWN])}")
    return ". ".join(parts)


def _strict(params: _Schema) -> _Schema:
    if not params:
        return {}
    made = resolve_refs(params)
    made.pop("$defs", None)
    made = lift_top_level_anyof(convert_oneof_to_anyof(made))
    force_additional_properties_false(ensure_type_in_schemas(made))
    return strip_unsupported_formats(ensure_all_properties_required(made))


def _everywhere(node: Any, change: Callable[[_Schema], Any]) -> Any:
    """Change each schema within a schema, from the outside in; names of the user's are no schemas."""
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
