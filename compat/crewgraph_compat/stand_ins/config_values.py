"""What a `config=` of an object says, laid under its own values."""

from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel

__all__ = ["process_config"]


def process_config(values: dict[str, Any], model_class: type[BaseModel]) -> dict[str, Any]:
    """Values with those of their `config` where they have none themselves, for `model_validator(mode="before")`.

    Args:
        values: what an object is made with; changed in place.
        model_class: what is made; names in `config` that are none of its fields are left out.

    Returns:
        the values, without `config` if it said anything.
    """
    config: dict[str, Any] = values.get("config") or {}
    for name, value in config.items():
        if name not in model_class.model_fields or values.get(name) is not None:
            continue
        if isinstance(value, Mapping) and isinstance(own := values.get(name), dict):
            cast("dict[str, Any]", own).update(cast("Mapping[str, Any]", value))
        else:
            values[name] = value
    if config:
        values.pop("config", None)
    return values
