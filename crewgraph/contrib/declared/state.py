"""The states of declared flows, and pydantic models built from JSON schemas."""

from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Annotated, Any, Literal, Optional, Union

from pydantic import BaseModel, ConfigDict, Field, create_model

from crewgraph.definitions.flow.state import FlowState
from crewgraph.errors import DefinitionError
from crewgraph.schema import JsonSchema, PlainDict, flat_schema, is_list


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class FlowDictStateDefinition(_Strict):
    """A state that is a dict."""

    type: Literal["dict"] = "dict"
    default: PlainDict | None = None
    """The initial contents."""


class FlowPydanticStateDefinition(_Strict):
    """A state that is a pydantic model."""

    type: Literal["pydantic"] = "pydantic"
    ref: str | None = None
    """The model, as "module:Class"."""

    json_schema: JsonSchema | None = None
    """JSON schema of its fields, used if the model cannot be imported."""

    default: PlainDict | None = None
    """Initial values of its fields."""


class FlowJsonSchemaStateDefinition(_Strict):
    """A model whose fields are declared in the file."""

    type: Literal["json_schema"] = "json_schema"
    json_schema: JsonSchema
    """JSON schema of an object with the fields."""

    default: PlainDict | None = None
    """Initial values of the fields."""


class FlowUnknownStateDefinition(_Strict):
    """A state of unknown type; a dict is used."""

    type: Literal["unknown"] = "unknown"
    ref: str | None = None
    """Its type, as "module:Class"."""

    default: PlainDict | None = None
    """The initial contents of the dict."""


FlowStateDefinition = Annotated[
    FlowDictStateDefinition | FlowPydanticStateDefinition | FlowJsonSchemaStateDefinition | FlowUnknownStateDefinition,
    Field(discriminator="type"),
]
"""Any state of a declared flow."""


_SCALARS: dict[str, object] = {"string": str, "integer": int, "number": float, "boolean": bool, "null": type(None)}
_FORMATS: dict[str, object] = {"date": date, "date-time": datetime, "time": time}
_BOUNDS = {
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

_Schema = Mapping[str, Any]


def state_model(schema: _Schema, flow: str) -> type[BaseModel]:
    """Build a model from a JSON schema; optional fields without a default are None.

    Args:
        schema: The JSON schema of an object.
        flow: The flow's name, for error messages.

    Raises:
        DefinitionError: If it is not the schema of an object, or has an unsupported type.
    """
    if schema.get("type", "object") != "object":
        raise DefinitionError(
            f"the state of flow `{flow}` is a {schema['type']!r}; its `json_schema` must describe an object"
        )
    try:
        return _state_model(flat_schema(schema), str(schema.get("title") or "State"), FlowState)
    except (KeyError, TypeError) as error:
        raise DefinitionError(f"`json_schema` of the state of flow `{flow}` is invalid: {error}") from error


def _state_model(schema: _Schema, name: str, base: type[BaseModel]) -> type[BaseModel]:
    required = schema.get("required", ())
    fields = {
        field: _state_model_field(value, f"{name}_{field}", field in required)
        for field, value in schema.get("properties", {}).items()
    }
    return create_model(name, __base__=base, __module__=__name__, **fields)


def _state_model_field(schema: _Schema, name: str, is_required: bool) -> Any:
    kind = _type(schema, name)
    settings: dict[str, Any] = {"description": schema.get("description")}
    if kind in (int, float, str) or schema.get("type") == "array":
        settings |= {argument: schema[keyword] for keyword, argument in _BOUNDS.items() if keyword in schema}
    if is_required and "default" not in schema:
        return kind, Field(**settings)
    return Optional[kind], Field(default=schema.get("default"), **settings)  # noqa: UP045 - the type is only known at run time


def _type(schema: _Schema, name: str) -> Any:
    if "const" in schema or "enum" in schema:
        return Literal[tuple(schema.get("enum", [schema.get("const")]))]
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return Union[tuple(_type(choice, f"{name}_{number}") for number, choice in enumerate(choices))]  # noqa: UP007
    kind = schema.get("type")
    if is_list(kind):
        return Union[tuple(_type({**schema, "type": item}, name) for item in kind)]  # noqa: UP007
    if kind == "array":
        return list[_type(schema["items"], f"{name}_item")] if "items" in schema else list[Any]
    if kind == "object":
        return _state_model(schema, name, _Strict) if schema.get("properties") else dict[str, Any]
    if kind == "string" and schema.get("format") in _FORMATS:
        return _FORMATS[schema["format"]]
    return Any if kind is None else _SCALARS[kind]
