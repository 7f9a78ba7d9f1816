"""Methods that are carried out once for each project, whoever asks."""

import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from crewgraph.core.loops.bridge import wait_for
from crewgraph.errors import DefinitionError

__all__ = ["finished", "memoized", "shelf_of"]

P = ParamSpec("P")
R = TypeVar("R")

_NAME = "_crewgraph_shelf"


class _Shelf(dict[Hashable, Any]):
    """What one object keeps; a copy of the object begins without."""

    owner: int = 0


def shelf_of(project: object) -> dict[Hashable, Any]:
    """What a project keeps: the results of its methods, its configurations."""
    attributes = project.__dict__
    if _NAME in attributes and attributes[_NAME].owner != id(project):
        del attributes[_NAME]
    made = _Shelf()
    made.owner = id(project)
    return attributes.setdefault(_NAME, made)


def finished(made: Any) -> Any:
    """What a method returned, waited for if it is async."""
    return wait_for(made) if inspect.isawaitable(made) else made


def memoized(method: Callable[P, R]) -> Callable[P, R]:
    """A method whose result is kept, for each object and each set of arguments; None is not kept.

    An async one is waited for. A function outside of a class keeps its results itself.
    """
    of_class = "." in getattr(method, "__qualname__", "").rpartition("<locals>.")[2]
    own: dict[Hashable, Any] = {}

    @wraps(method)
    def kept(*args: P.args, **kwargs: P.kwargs) -> Any:
        is_method = of_class and bool(args) and hasattr(args[0], "__dict__")
        if is_method and inspect.isfunction(args[0]):
            raise DefinitionError(_hidden(method.__name__, args[0].__qualname__))
        results = shelf_of(args[0]) if is_method else own
        key = (kept, _frozen(args[is_method:]), _frozen(kwargs))
        try:
            if key in results:
                return results[key]
        except TypeError:  # an argument without a hash
            return finished(method(*args, **kwargs))
        made = finished(method(*args, **kwargs))
        # Of two threads that ask at once both are given the first result.
        return made if made is None else results.setdefault(key, made)

    return kept


def _frozen(value: Any) -> Any:
    """A value as part of a key."""
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return ("dict", *((name, _frozen(one)) for name, one in items))
    if isinstance(value, Set):
        return frozenset(map(_frozen, cast("Set[Any]", value)))
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, *map(_frozen, cast("Sequence[Any]", value)))  # pyright: ignore[reportUnknownArgumentType]
    return value


def _hidden(name: str, below: str) -> str:
    return (
        f"`@{name}` above `{below}` is the method `{name}` that stands above it in the class, not the decorator. Put the "
        f"method `{name}` last, or import the decorator under another name: "
        f"`from crewgraph.project import {name} as {name}_method`."
    )
