"""Instances of users' pydantic models as plain data, and back."""

import json
from typing import Any

from pydantic import BaseModel

__all__ = ["model_again", "plain_model"]


def plain_model(found: BaseModel | None) -> Any:
    """An instance as plain data: what `model_again` can read, whatever the model."""
    # Names instead of aliases, and no computed fields.
    return None if found is None else found.model_dump(mode="json", by_alias=False, round_trip=True)


def model_again(data: Any, model: type[BaseModel] | None) -> BaseModel | None:
    """The instance that `plain_model` described; None where there was none, or nobody knows its class.

    Raises:
        pydantic.ValidationError: the data does not fit.
    """
    if model is None or data is None:
        return None
    # As JSON, which strict models read in their way.
    return model.model_validate_json(json.dumps(data), by_alias=False, by_name=True)
