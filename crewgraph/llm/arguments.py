"""Which of the offered arguments somebody's method takes."""

import inspect
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

__all__ = ["accepted"]

_Parameters = tuple[frozenset[str], frozenset[str], bool]

_known: WeakKeyDictionary[type, dict[str, _Parameters]] = WeakKeyDictionary()


def accepted(owner: object, method: str, offered: Mapping[str, Any]) -> dict[str, Any]:
    """The part of the offered keywords that a method takes after its first argument.

    Keywords that it names are passed where they hold something or where it has no default for them; a
    `**kwargs` gets only those that hold something, because its author may send them on.
    """
    named, required, rest = _parameters(owner, method)
    return {
        name: value
        for name, value in offered.items()
        if name in required or (value is not None and (name in named or rest))
    }


def _parameters(owner: object, method: str) -> _Parameters:
    if method in getattr(owner, "__dict__", {}):
        return _read(getattr(owner, method))  # an attribute of this one object
    by_method = _known.setdefault(type(owner), {})
    if method not in by_method:
        by_method[method] = _read(getattr(owner, method))
    return by_method[method]


def _read(function: Any) -> _Parameters:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:  # some builtins keep their signature to themselves
        return frozenset(), frozenset(), False
    keywords = [p for p in parameters if p.kind in {p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY}]
    if parameters and parameters[0].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
        keywords = keywords[1:]  # the messages
    return (
        frozenset(p.name for p in keywords),
        frozenset(p.name for p in keywords if p.default is p.empty),
        any(p.kind is p.VAR_KEYWORD for p in parameters),
    )
