"""Which of the offered arguments somebody's method takes."""

import inspect
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

__all__ = ["accepted"]

_Parameters = tuple[frozenset[str], frozenset[str], bool]

_known: WeakKeyDictionary[type, dict[str, tuple[Any, _Parameters]]] = WeakKeyDictionary()


def accepted(
    owner: object,
    method: str,
    offered: Mapping[str, Any],
    *,
    named_only: frozenset[str] = frozenset(),
    first: bool = True,
) -> dict[str, Any]:
    """The part of the offered keywords that a method takes after its first argument.

    Keywords that it names are passed where they hold something or where it has no default for them; a
    `**kwargs` gets only those that hold something, because its author may send them on.

    Args:
        owner: whose method it is.
        method: its name.
        offered: values by keyword.
        named_only: those that no `**kwargs` gets.
        first: whether its first argument is given anyway.
    """
    named, required, rest = _parameters(owner, method, first)
    return {
        name: value
        for name, value in offered.items()
        if name in required or (value is not None and (name in named or (rest and name not in named_only)))
    }


def _parameters(owner: object, method: str, first: bool) -> _Parameters:
    if method in getattr(owner, "__dict__", {}):
        return _read(getattr(owner, method), first)  # an attribute of this one object
    by_method = _known.setdefault(type(owner), {})
    kept, function = by_method.get(method), getattr(type(owner), method)
    if kept is None or kept[0] is not function:  # not what it was: somebody patched the class
        kept = by_method[method] = (function, _read(getattr(owner, method), first))
    return kept[1]


def _read(function: Any, first: bool) -> _Parameters:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:  # some builtins keep their signature to themselves
        return frozenset(), frozenset(), False
    keywords = [p for p in parameters if p.kind in {p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY}]
    if first and parameters and parameters[0].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
        keywords = keywords[1:]  # the messages
    return (
        frozenset(p.name for p in keywords),
        frozenset(p.name for p in keywords if p.default is p.empty),
        any(p.kind is p.VAR_KEYWORD for p in parameters),
    )
