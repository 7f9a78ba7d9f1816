"""The form of a result, as users give it to tasks."""

from collections.abc import Mapping
from typing import Annotated, Any, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from crewgraph.deprecations import warn_deprecated
from crewgraph.schema import from_json_schema

__all__ = ["AnyForm", "GivenForm"]


class AnyForm(BaseModel):
    """A JSON object of any form."""

    model_config = ConfigDict(extra="allow")


def _as_model(given: Any) -> Any:
    """The model that a dict, a JSON schema or the word that it is to be JSON stand for; anything else as it is."""
    if given is True or given is dict:
        made: Any = AnyForm
    elif isinstance(given, Mapping):
        made = _described(cast("Mapping[str, Any]", given))
    else:
        return None if given is False else given
    warn_deprecated("`output_json` of a task that is no model", "give a pydantic model", by_hand=True)
    return made


def _described(form: Mapping[str, Any]) -> type[BaseModel]:
    if isinstance(form.get("properties"), Mapping):
        return from_json_schema(form, name=str(form.get("title") or "Form"))
    fields: dict[str, Any] = {name: _field(of) for name, of in form.items()}
    return create_model("Form", **fields) if fields else AnyForm


def _field(of: Any) -> tuple[Any, Any]:
    """A field by its type, or by a text that says what it is."""
    return (str, Field(description=of)) if isinstance(of, str) else (of if isinstance(of, type) else Any, ...)


GivenForm = Annotated[type[BaseModel] | None, BeforeValidator(_as_model)]
"""A pydantic model. Older programs give a dict of names and types, a JSON schema, `dict` or True."""
