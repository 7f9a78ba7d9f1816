"""Pydantic models from JSON schemas, and model schemas in OpenAI format or as text."""

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any, Final, Literal, Optional, TypedDict, Union, cast
from uuid import UUID

from pydantic import AnyUrl, BaseModel, ConfigDict, DirectoryPath, Field, FilePath, Json, create_model
from pydantic.networks import IPvAnyAddress, IPvAnyInterface, IPvAnyNetwork
from pydantic.types import UUID1, UUID3, UUID4, UUID5, NewPath, StrictBytes

from crewgraph.schema import model_outline
from crewgraph_compat.stand_ins.tools.strict_schemas import (
    build_rich_field_description,
    convert_oneof_to_anyof,
    ensure_all_properties_required,
    force_additional_properties_false,
    resolve_refs,
    strip_null_from_types,
    strip_unsupported_formats,
)

__all__ = [
    "FORMAT_TYPE_MAP",
    "JsonSchemaInfo",
    "ModelDescription",
    "PydanticSchemaParser",
    "create_model_from_schema",
    "generate_model_description",
    "serialize_model_class",
]


FORMAT_TYPE_MAP: Final[dict[str, Any]] = {
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
"""The Python types of string formats."""

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


class JsonSchemaInfo(TypedDict):
    """A named schema."""

    name: str
    strict: Literal[True]
    schema: dict[str, Any]


class ModelDescription(TypedDict):
    """A model in OpenAI's `response_format`."""

    type: Literal["json_schema"]
    json_schema: JsonSchemaInfo


def generate_model_description(model: type[BaseModel], *, strip_null_types: bool = True) -> ModelDescription:
    """Return a model in OpenAI's `response_format`.

    Args:
        model: the model.
        strip_null_types: whether to drop null from nullable fields.
    """
    schema = resolve_refs(model.model_json_schema())
    schema.pop("$defs", None)
    closed = force_additional_properties_false(convert_oneof_to_anyof(schema))
    strip_unsupported_formats(ensure_all_properties_required(closed))
    if strip_null_types:
        strip_null_from_types(schema)
    return {"type": "json_schema", "json_schema": {"name": model.__name__, "strict": True, "schema": schema}}


def serialize_model_class(value: Any) -> Any:
    """Return a model class as its JSON schema; other values are returned unchanged."""
    if isinstance(value, type) and issubclass(value, BaseModel):
        return value.model_json_schema()
    return cast("Any", value)


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
    """Create a model that validates a JSON schema.

    Args:
        json_schema: the schema of an object.
        root_schema: the schema that contains its `$defs`, if it is a different one.
        model_name: the model's name; defaults to the schema's title.
        enrich_descriptions: whether descriptions include constraints.

    Raises:
        ValueError: A part of the schema has no matching type.
    """
    definitions = (root_schema or json_schema).get("$defs", {})
    try:
        full = resolve_refs({**json_schema, "$defs": definitions})
    except KeyError as error:
        raise ValueError(f"a `$ref` leads to nothing: {error.args[0]}") from error
    name = model_name or full.get("title") or _NAMELESS
    fields = _GeneratedModel(enrich_descriptions).fields(full)
    settings: dict[str, Any] = {"__module__": __module__, "__validators__": __validators__}
    settings |= {"__cls_kwargs__": __cls_kwargs__}
    if __base__ is not None:
        settings["__base__"] = __base__
    else:
        settings["__config__"] = __config__ or ConfigDict(extra="forbid")
    return create_model(name, **settings, **fields)


class _GeneratedModel:
    """Create model fields from schemas."""

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
            settings |= {argument: schema[keyword] for keyword, argument in _BOUNDS.items() if keyword in schema}
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
            raise ValueError(f"`{kind!r}` of `{name}` is not a JSON type")
        if kind == "string" and schema.get("format") in FORMAT_TYPE_MAP:
            return FORMAT_TYPE_MAP[schema["format"]]
        if kind == "array" and isinstance(schema.get("items"), dict) and schema["items"]:
            return list[self._type(schema["items"], f"{name}Item")]
        if kind == "object" and schema.get("properties"):
            inner = schema.get("title") or name.title().replace("_", "")
            return create_model(inner, __config__=ConfigDict(extra="forbid"), **self.fields(schema))
        return _PLAIN[kind]


class PydanticSchemaParser(BaseModel):
    """Describe the fields of a model as text."""

    model: type[BaseModel]
    """The model."""

    def get_schema(self) -> str:
        """Return an outline of the expected JSON, as used in prompts.

        Raises:
            DefinitionError: A field has a type that JSON cannot express.
        """
        return model_outline(self.model)
