"""JSON schemas put as strict providers want them, step by step; models of crewgraph's agents are told theirs by itself."""

from copy import deepcopy
from typing import Any, Final, cast

__all__ = ["build_rich_field_description", "resolve_refs"]


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


def resolve_refs(schema: _Schema) -> _Schema:
    """A schema with its `$defs` in their places; where one recurs, an object.

    Raises:
        KeyError: there is no definition of a name.
    """
    return _resolved(deepcopy(schema), schema.get("$defs", {}), ())


def build_rich_field_description(prop_schema: _Schema) -> str:
    """What a field is for, and what it may hold, in one line."""
    parts = [prop_schema["description"]] if prop_schema.get("description") else []
    parts += [f"{label}: {prop_schema[key]}" for key, label in _LABELS.items() if key in prop_schema]
    if examples := prop_schema.get("examples"):
        parts.append(f"Examples: {', '.join(repr(one) for one in examples[:_SHOWN])}")
    return ". ".join(parts)


def _resolved(node: Any, definitions: _Schema, above: tuple[str, ...]) -> Any:
    if isinstance(node, list):
        return [_resolved(one, definitions, above) for one in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    found = cast("_Schema", node)
    ref = found.get("$ref")
    if not isinstance(ref, str) or not ref.startswith("#/$defs/"):
        return {
            key: value if key == "mapping" else _resolved(value, definitions, above) for key, value in found.items()
        }
    name = ref.removeprefix("#/$defs/")
    if name in above:
        return {"type": "object"}
    if name not in definitions:
        raise KeyError(f"the schema has no definition of `{name}`")
    return _resolved(deepcopy(definitions[name]), definitions, (*above, name))
