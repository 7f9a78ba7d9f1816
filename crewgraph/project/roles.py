"""Roles of a project's methods, the cache of their results, and the directories of a project's files."""

import inspect
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence, Set
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

from crewgraph.core.loops.bridge import resolved
from crewgraph.errors import DefinitionError
from crewgraph.tracebacks import shortened

_T = TypeVar("_T")

_ROLES_ATTRIBUTE = "__project_roles__"


class Role(StrEnum):
    """The role of a method in a project; equals the name of its decorator."""

    agent = "agent"
    task = "task"
    crew = "crew"
    llm = "llm"
    tool = "tool"
    callback = "callback"
    cache_handler = "cache_handler"
    output_json = "output_json"
    output_pydantic = "output_pydantic"
    before_kickoff = "before_kickoff"
    after_kickoff = "after_kickoff"

    @property
    def noun(self) -> str:
        """The noun for members with this role, in messages."""
        return f"@{self} {'class' if self in (Role.output_json, Role.output_pydantic) else 'method'}"


def mark_role(member: _T, role: Role) -> _T:
    """Add a role to a function or class."""
    setattr(member, _ROLES_ATTRIBUTE, roles_of(member) | {role})
    return member


def roles_of(member: object) -> frozenset[Role]:
    """Return the roles of a function or class; a subclass does not inherit them."""
    return getattr(member, "__dict__", {}).get(_ROLES_ATTRIBUTE, frozenset[Role]())


def inherited_roles(cls: type, name: str) -> frozenset[Role]:
    """Return the roles that a name has in the base classes."""
    return next((roles_of(vars(base)[name]) for base in cls.__mro__[1:] if name in vars(base)), frozenset[Role]())


def names_with_role(cls: type, role: Role) -> list[str]:
    """Return the names of a class's members with a role, base classes first, in order of definition."""
    names = dict.fromkeys(name for base in reversed(cls.__mro__) for name in vars(base))
    return [name for name in names if role in roles_of(inspect.getattr_static(cls, name, None))]


_F = TypeVar("_F", bound=Callable[..., Any])

_CACHE_ATTRIBUTE = "_crewgraph_shelf"


class _ProjectCache(dict[Hashable, Any]):
    """The cache of one object; a copy of the object starts with an empty one."""

    owner: int = 0
    """The `id` of the object."""


def project_cache(project: object) -> dict[Hashable, Any]:
    """Return the cache of a project, which holds the results of its methods and its configurations."""
    attributes = project.__dict__
    if _CACHE_ATTRIBUTE in attributes and attributes[_CACHE_ATTRIBUTE].owner != id(project):
        del attributes[_CACHE_ATTRIBUTE]
    cache = _ProjectCache()
    cache.owner = id(project)
    return attributes.setdefault(_CACHE_ATTRIBUTE, cache)


def memoize(method: _F) -> _F:
    """Cache the results of a method by object and arguments, except for None.

    Async methods are waited for. The results of a function outside of a class are cached with the function.
    """
    in_class = "." in getattr(method, "__qualname__", "").rpartition("<locals>.")[2]
    results_of_function: dict[Hashable, object] = {}

    @wraps(method)
    def cached(*args: Any, **kwargs: object) -> Any:
        is_method = in_class and bool(args) and hasattr(args[0], "__dict__")
        if is_method and inspect.isfunction(args[0]):
            name = method.__name__
            raise DefinitionError(
                f"`@{name}` on `{args[0].__qualname__}` is the method `{name}` defined earlier in the class, not the decorator. "
                f"Move the method `{name}` to the end of the class, or import the decorator under another name: "
                f"`from crewgraph.project import {name} as {name}_method`."
            )
        results = project_cache(args[0]) if is_method else results_of_function
        key = (cached, _hashable(args[is_method:]), _hashable(kwargs))
        with shortened():
            try:
                if key in results:
                    return results[key]
            except TypeError:  # an argument is not hashable
                return resolved(method(*args, **kwargs))
            result = resolved(method(*args, **kwargs))
            # Two concurrent threads both get the first result.
            return result if result is None else results.setdefault(key, result)

    return cast(_F, cached)


def _hashable(value: object) -> object:
    """Convert a value to a hashable one, for a cache key."""
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return ("dict", *((name, _hashable(item)) for name, item in items))
    if isinstance(value, Set):
        return frozenset(map(_hashable, cast("Set[Any]", value)))
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, *map(_hashable, cast("Sequence[Any]", value)))  # pyright: ignore[reportUnknownArgumentType]
    return value


def class_directory(cls: type, file: str | None = None) -> Path:
    """Return the directory of a class's source file, or the working directory if it has none (a notebook, `exec`).

    Args:
        cls: The class.
        file: The file of the code that decorates the class, for modules that are not in `sys.modules`.
    """
    module = sys.modules.get(cls.__module__)
    source = file if module is None else getattr(module, "__file__", None)
    path = Path(source).absolute() if source else None
    return path.parent if path is not None and path.exists() else Path.cwd()


def base_directories(cls: type, attribute: str) -> Iterator[Path]:
    """Yield the directories of a class and its bases, up to the class that sets an attribute."""
    for base in cls.__mro__:
        if "base_directory" in vars(base):
            yield Path(vars(base)["base_directory"])
        if attribute in vars(base):
            return


def display_path(path: Path) -> str:
    """Return a path for messages, relative to the working directory if the file is below it."""
    try:
        return path.relative_to(Path.cwd()).as_posix()
    except ValueError:
        return str(path)
