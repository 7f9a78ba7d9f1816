"""Pydantic models from JSON schemas."""

from collections.abc import Mapping
from copy import deepcopy
from datetime import date, datetime, time, timedelta
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any, Final, Literal, Optional, Union, cast
from uuid import UUID

from pydantic import AnyUrl, BaseModel, ConfigDict, DirectoryPath, Field, FilePath, Json, create_model
from pydantic.networks import IPvAnyAddress, IPvAnyInterface, IPvAnyNetwork
from pydantic.types import UUID1, UUID3, UUID4, UUID5, NewPath, StrictBytes

__all__ = ["build_rich_field_description", "create_model_from_schema", "resolve_refs"]


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

_StrictSchemasSchema = dict[str, Any]


def resolve_refs(schema: _StrictSchemasSchema) -> _StrictSchemasSchema:
    """A schema with its `$defs` in their places; where one recurs, an object.

    Raises:
        KeyError: there is no definition of a name.
    """
    return _resolved(deepcopy(schema), schema.get("$defs", {}), ())


def build_rich_field_description(prop_schema: _StrictSchemasSchema) -> str:
    """What a field is for, and what it may hold, in one line."""
    parts = [prop_schema["description"]] if prop_schema.get("description") else []
    parts += [f"{label}: {prop_schema[key]}" for key, label in _LABELS.items() if key in prop_schema]
    if examples := prop_schema.get("examples"):
        parts.append(f"Examples: {', '.join(repr(example) for example in examples[:_SHOWN])}")
    return ". ".join(parts)


def _resolved(node: Any, definitions: _StrictSchemasSchema, above: tuple[str, ...]) -> Any:
    if isinstance(node, list):
        return [_resolved(item, definitions, above) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    result = cast("_StrictSchemasSchema", node)
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


_FORMATS: Final[dict[str, Any]] = {
    "base64": bytes,
    "binary": StrictBytes,
    "date": date,
    "date-time": datetime,
    "directory-path": DirectoryPath,
    "duration": timedelta,
    "email": str,
    "file-path": FilePath,
    "ipv4": IPv4Address,
    "ipv6": IPv6Address,
    "ipvanyaddress": IPvAnyAddress,
    "ipvanyinterface": IPvAnyInterface,
    "ipvanynetwork": IPvAnyNetwork,
    "json-string": Json,
    "new-path": NewPath,
    "path": Path,
    "time": time,
    "uri": AnyUrl,
    "uuid": UUID,
    "uuid1": UUID1,
    "uuid3": UUID3,
    "uuid4": UUID4,
    "uuid5": UUID5,
}
"""The types that stand for formats of texts."""

_PLAIN: Final[dict[str, Any]] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "null": type(None),
    "object": dict,
    "array": list,
}
_BOUNDS: Final = {
    "minimum": "ge",
    "maximum": "le",
    "exclusiveMinimum": "gt",
    "exclusiveMaximum": "lt",
    "multipleOf": "multiple_of",
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_length",
    "maxItems": "max_length",
    "pattern": "pattern",
}
_NAMELESS: Final = "DynamicModel"

_Schema = Mapping[str, Any]


def create_model_from_schema(
    json_schema: dict[str, Any],
    *,
    root_schema: dict[str, Any] | None = None,
    model_name: str | None = None,
    enrich_descriptions: bool = False,
    __config__: ConfigDict | None = None,
    __base__: type[BaseModel] | None = None,
    __module__: str = __name__,
    __validators__: dict[str, Any] | None = None,
    __cls_kwargs__: dict[str, Any] | None = None,
) -> type[BaseModel]:
    """A model that validates what a JSON schema tells of.

    Args:
        json_schema: the schema of an object.
        root_schema: where its `$defs` are, if elsewhere.
        model_name: the model's name; None is the schema's title.
        enrich_descriptions: whether descriptions tell of bounds, too.

    Raises:
        ValueError: something in it stands for no type.
    """
    definitions = (root_schema or json_schema).get("$defs", {})
    try:
        full = resolve_refs({**json_schema, "$defs": definitions})
    except KeyError as error:
        raise ValueError(f"a `$ref` leads to nothing: {error.args[0]}") from error
    name = model_name or full.get("title") or _NAMELESS
    fields = _Made(enrich_descriptions).fields(full)
    settings: dict[str, Any] = {"__module__": __module__, "__validators__": __validators__}
    settings |= {"__cls_kwargs__": __cls_kwargs__}
    if __base__ is not None:
        settings["__base__"] = __base__
    else:
        settings["__config__"] = __config__ or ConfigDict(extra="forbid")
    return create_model(name, **settings, **fields)


class _Made:
    """Makes fields of schemas."""

    def __init__(self, is_rich: bool) -> None:
        self._is_rich = is_rich

    def fields(self, schema: _Schema) -> dict[str, Any]:
        required = schema.get("required", [])
        return {
            name: self._field(name, cast("_Schema", item), name in required)
            for name, item in schema.get("properties", {}).items()
        }

    def _field(self, name: str, schema: _Schema, is_required: bool) -> Any:
        kind = self._type(schema, name)
        note = build_rich_field_description(dict(schema)) if self._is_rich else schema.get("description")
        settings: dict[str, Any] = {"description": note or None}
        if examples := schema.get("examples"):
            settings["examples"] = examples
        if kind in (int, float, str) or "items" in schema:
            settings |= {ours: schema[theirs] for theirs, ours in _BOUNDS.items() if theirs in schema}
        if is_required:
            return (kind, Field(**settings))
        return (Optional[kind], Field(default=schema.get("default"), **settings))  # noqa: UP045 - a type that is known when it runs

    def _type(self, schema: _Schema, name: str) -> Any:
        if "const" in schema:
            return Literal[schema["const"]]
        if "enum" in schema:
            return Literal[tuple(schema["enum"])]
        if choices := schema.get("anyOf") or schema.get("oneOf"):
            return Union[tuple(self._type(item, f"{name}Option{n}") for n, item in enumerate(choices))]  # noqa: UP007
        if parts := schema.get("allOf"):
            merged: dict[str, Any] = {"type": "object", "properties": {}}
            for part in parts:
                merged |= {**part, "properties": {**merged["properties"], **part.get("properties", {})}}
            return self._type(merged, name)
        return self._plain(schema, name)

    def _plain(self, schema: _Schema, name: str) -> Any:
        kind: Any = schema.get("type")
        if kind is None:
            return Any
        if isinstance(kind, list):
            each = tuple(self._type({**schema, "type": item}, name) for item in cast("list[Any]", kind))
            return Union[each]  # noqa: UP007
        if kind not in _PLAIN:
            raise ValueError(f"`{kind!r}` of `{name}` is no type of JSON")
        if kind == "string" and schema.get("format") in _FORMATS:
            return _FORMATS[schema["format"]]
        if kind == "array" and isinstance(schema.get("items"), dict) and schema["items"]:
            return list[self._type(schema["items"], f"{name}Item")]
        if kind == "object" and schema.get("properties"):
            inner = schema.get("title") or name.title().replace("_", "")
            return create_model(inner, __config__=ConfigDict(extra="forbid"), **self.fields(schema))
        return _PLAIN[kind]
