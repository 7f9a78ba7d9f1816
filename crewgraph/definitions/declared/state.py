"""The states of declared flows."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "FlowDictStateDefinition",
    "FlowJsonSchemaStateDefinition",
    "FlowPydanticStateDefinition",
    "FlowStateDefinition",
    "FlowUnknownStateDefinition",
]


class FlowDictStateDefinition(BaseModel):
    """A dict."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["dict"] = "dict"
    default: dict[str, Any] | None = None
    """What it holds at the beginning."""


class FlowPydanticStateDefinition(BaseModel):
    """A pydantic model."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["pydantic"] = "pydantic"
    ref: str | None = None
    """The model, as "module:Class"."""

    json_schema: dict[str, Any] | None = None
    """Its fields, for where the model itself is not there."""

    default: dict[str, Any] | None = None
    """Values for its fields."""


class FlowJsonSchemaStateDefinition(BaseModel):
    """A model of which the file tells the fields."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["json_schema"] = "json_schema"
    json_schema: dict[str, Any]
    """The fields: a JSON schema of an object."""

    default: dict[str, Any] | None = None
    """Values for them."""


class FlowUnknownStateDefinition(BaseModel):
    """A state of which nothing is known; a dict is used."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["unknown"] = "unknown"
    ref: str | None = None
    """What it was, as "module:Class"."""

    default: dict[str, Any] | None = None
    """What the dict holds at the beginning."""


FlowStateDefinition = Annotated[
    FlowDictStateDefinition | FlowPydanticStateDefinition | FlowJsonSchemaStateDefinition | FlowUnknownStateDefinition,
    Field(discriminator="type"),
]
"""What the state of a flow is."""
