"""Keys of a declaration that nobody knows: they are told, and left out."""

import warnings
from collections.abc import Iterable
from typing import Any, cast

from pydantic import BaseModel, model_validator

from crewgraph.definitions.definition import UnknownKeyword
from crewgraph.deprecations import user_stacklevel

__all__ = ["KnowsItsKeys", "tell_unknown"]


class KnowsItsKeys(BaseModel):
    """A part of a declaration that says which of its keys it does not know."""

    @model_validator(mode="before")
    @classmethod
    def _tell_unknown(cls, values: Any) -> Any:
        if isinstance(values, dict):
            aliases = (field.alias for field in cls.model_fields.values() if field.alias is not None)
            title = str(cls.model_config.get("title") or cls.__name__).removesuffix("Definition")
            tell_unknown(cast("dict[str, Any]", values), (*cls.model_fields, *aliases), title)
        return cast(Any, values)


def tell_unknown(values: Iterable[str], known: Iterable[str], where: str) -> None:
    """Warn of keys that are none of those which are known."""
    names = sorted(known)
    if unknown := [key for key in values if key not in names]:
        told = ", ".join(f"`{key}`" for key in unknown)
        warnings.warn(
            f"`{where}` of a declaration knows no {told}: it is without effect. There are {', '.join(names)}.",
            UnknownKeyword,
            stacklevel=user_stacklevel(),
        )
