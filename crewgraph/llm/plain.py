"""Plain data out of whatever a provider's library hands over."""

from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel

__all__ = ["plain"]


def plain(value: object) -> Any:
    """A value as text, numbers, bytes, lists and dicts; what is none of these is left out (None)."""
    if value is None or isinstance(value, (str, int, float, bool, bytes)):
        return value
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return {str(name): plain(held) for name, held in cast("Mapping[Any, object]", value).items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(held) for held in cast("list[object]", value)]
    return None
