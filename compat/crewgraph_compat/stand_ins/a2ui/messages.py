"""A2UI 0.8: messages that describe surfaces, user actions on them, and validation."""

import json
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel

__all__ = [
    "A2UIEvent",
    "A2UIMessage",
    "A2UIResponse",
    "A2UIValidationError",
    "BeginRendering",
    "ClientError",
    "ComponentEntry",
    "DataEntry",
    "DataModelUpdate",
    "DeleteSurface",
    "MapEntry",
    "Styles",
    "SurfaceUpdate",
    "UserAction",
    "extract_a2ui_json_objects",
    "validate_a2ui_event",
    "validate_a2ui_message",
]

_KINDS = ("beginRendering", "surfaceUpdate", "dataModelUpdate", "deleteSurface")
_M = TypeVar("_M", bound=BaseModel)


class A2UIValidationError(Exception):
    """Data that is not valid A2UI.

    Args:
        message: what.
        errors: the individual errors as dicts.
    """

    def __init__(self, message: str, errors: list[Any] | None = None) -> None:
        super().__init__(message)
        self.errors = errors or []


class _Loose(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class _Strict(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")


def _one_of(model: BaseModel, what: str) -> None:
    values = [name for name in type(model).model_fields if getattr(model, name) is not None]
    if len(values) != 1:
        raise ValueError(f"an A2UI {what} has exactly one kind, but this one has {len(values)}")


class MapEntry(_Strict):
    """An entry of a map."""

    key: str
    value_string: str | None = None
    value_number: float | None = None
    value_boolean: bool | None = None


class DataEntry(MapEntry):
    """An entry of a data model."""

    value_map: list[MapEntry] | None = None


class Styles(_Strict):
    """The styles of a surface."""

    font: str | None = None
    primary_color: str | None = Field(default=None, pattern=r"^#[0-9a-fA-F]{6}$")


class ComponentEntry(_Strict):
    """A component of a surface."""

    id: str
    weight: float | None = None
    component: dict[str, Any]


class BeginRendering(_Strict):
    """Show a surface."""

    surface_id: str
    root: str
    catalog_id: str | None = None
    styles: Styles | None = None


class SurfaceUpdate(_Strict):
    """Add or update the components of a surface."""

    surface_id: str
    components: list[ComponentEntry] = Field(min_length=1)


class DataModelUpdate(_Strict):
    """Update the data model of a surface."""

    surface_id: str
    path: str | None = None
    contents: list[DataEntry]


class DeleteSurface(_Strict):
    """Delete a surface."""

    surface_id: str


class A2UIMessage(_Strict):
    """A message from an agent to a client; exactly one field is set."""

    begin_rendering: BeginRendering | None = None
    surface_update: SurfaceUpdate | None = None
    data_model_update: DataModelUpdate | None = None
    delete_surface: DeleteSurface | None = None

    @model_validator(mode="after")
    def _of_one_kind(self) -> Self:
        _one_of(self, "message")
        return self


class UserAction(_Loose):
    """A user interacted with a component."""

    name: str
    surface_id: str
    source_component_id: str
    timestamp: str
    context: dict[str, Any]


class ClientError(BaseModel):
    """A surface could not be rendered."""

    model_config = ConfigDict(extra="allow")


class A2UIEvent(_Loose):
    """A message from a client to an agent; exactly one field is set."""

    user_action: UserAction | None = None
    error: ClientError | None = None

    @model_validator(mode="after")
    def _of_one_kind(self) -> Self:
        _one_of(self, "event")
        return self


class A2UIResponse(BaseModel):
    """A response that contains surfaces."""

    text: str
    a2ui_parts: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])
    a2ui_messages: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])


def _checked(kind: type[_M], data: dict[str, Any], what: str) -> _M:
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        faults: list[Any] = list(error.errors())
        raise A2UIValidationError(f"not a valid A2UI {what}: {len(faults)} errors; {error}", faults) from error


def validate_a2ui_message(data: dict[str, Any], *, validate_catalog: bool = False) -> A2UIMessage:
    """Parse a message.

    Args:
        data: the message as JSON data.
        validate_catalog: must be False, since component schemas are not known here.

    Raises:
        A2UIValidationError: The data are not well formed.
        NotImplementedError: `validate_catalog` is true.
    """
    if validate_catalog:
        raise NotImplementedError("components are not validated against a catalog; leave out `validate_catalog`")
    return _checked(A2UIMessage, data, "message")


def validate_a2ui_event(data: dict[str, Any]) -> A2UIEvent:
    """Parse an event.

    Raises:
        A2UIValidationError: The data are not well formed.
    """
    return _checked(A2UIEvent, data, "event")


def extract_a2ui_json_objects(text: str) -> list[dict[str, Any]]:
    """Return the JSON objects in a text whose keys mark them as messages."""
    decoder, result, at = json.JSONDecoder(), list[dict[str, Any]](), text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except ValueError:
            at = text.find("{", at + 1)
            continue
        if isinstance(value, dict) and any(kind in value for kind in _KINDS):
            result.append(value)  # pyright: ignore[reportUnknownArgumentType]
        at = text.find("{", end)
    return result
