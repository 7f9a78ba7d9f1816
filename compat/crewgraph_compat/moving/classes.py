"""What crewgraph's own classes take and have, as far as programs can ask for it."""

import importlib
import inspect
from functools import cache
from typing import Any

__all__ = ["attributes", "class_of", "is_former", "keywords", "takes_any"]


@cache
def class_of(target: str) -> Any:
    """What a target of the table is; of "module:Class.method", the method."""
    module, _, names = target.partition(":")
    found: Any = importlib.import_module(module)
    for name in names.split("."):
        found = getattr(found, name)
    return found


@cache
def keywords(target: str) -> tuple[str, ...]:
    """The keywords that a class or function takes by name."""
    made = class_of(target)
    fields: Any = getattr(made, "model_fields", None)
    if fields is not None:
        named: dict[str, Any] = fields
        return (*named, *(field.alias for field in named.values() if field.alias))
    return tuple(name for name, one in _parameters(made).items() if one.kind is not one.VAR_KEYWORD)


@cache
def takes_any(target: str) -> bool:
    """Whether a class or function takes keywords that it does not name."""
    made = class_of(target)
    if hasattr(made, "model_fields"):
        return made.model_config.get("extra") == "allow"
    parameters = _parameters(made)
    return not parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())


def is_former(target: str, keyword: str) -> bool:
    """Whether a keyword is one that older programs pass and that needs no word."""
    return keyword in getattr(class_of(target), "_former", ())


@cache
def attributes(target: str) -> frozenset[str]:
    """The names that an object of a class has."""
    made = class_of(target)
    kinds: tuple[type, ...] = getattr(made, "__mro__", ())
    annotated: list[dict[str, Any]] = [vars(one).get("__annotations__", {}) for one in kinds]
    return frozenset({*dir(made), *getattr(made, "model_fields", ()), *(name for one in annotated for name in one)})


def _parameters(made: Any) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(made).parameters)
    except (TypeError, ValueError):
        return {}
