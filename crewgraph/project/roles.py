"""What the methods and classes of a project are for, and how they are found.

Methods that are carried out once for each project, whoever asks.

Where a project's files lie: beside the file its class is written in.
"""

import inspect
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence, Set
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from crewgraph.core.loops.bridge import wait_for
from crewgraph.errors import DefinitionError

__all__ = [
    "Role",
    "display_path",
    "finished",
    "folder_of",
    "folders",
    "inherited_roles",
    "marked",
    "memoized",
    "named",
    "roles_of",
    "shelf_of",
]


_T = TypeVar("_T")

_MARK = "__project_roles__"


class Role(StrEnum):
    """What a method of a project makes, or when it is called; the name of its decorator."""

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
        """What has this role, in messages."""
        return f"@{self} {'class' if self in (Role.output_json, Role.output_pydantic) else 'method'}"


def marked(member: _T, role: Role) -> _T:
    """A function or class that has a role, beside those it has."""
    setattr(member, _MARK, roles_of(member) | {role})
    return member


def roles_of(member: object) -> frozenset[Role]:
    """The roles of a function or class; a subclass does not inherit them."""
    return getattr(member, "__dict__", {}).get(_MARK, frozenset[Role]())


def inherited_roles(cls: type, name: str) -> frozenset[Role]:
    """The roles that a name has in the classes above."""
    return next((roles_of(vars(base)[name]) for base in cls.__mro__[1:] if name in vars(base)), frozenset[Role]())


def named(cls: type, role: Role) -> list[str]:
    """The names of a class that have a role, those of its bases first, each where it stands first."""
    names = dict.fromkeys(name for base in reversed(cls.__mro__) for name in vars(base))
    return [name for name in names if role in roles_of(inspect.getattr_static(cls, name, None))]


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


def finished(made: object) -> Any:
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


def _frozen(value: Any) -> object:
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


def folder_of(cls: type, file: str | None = None) -> Path:
    """The folder of the file a class is written in; the working directory where there is none (a notebook, `exec`).

    Args:
        cls: the class.
        file: the file of the code that decorates it, for modules that Python does not list.
    """
    module = sys.modules.get(cls.__module__)
    written = file if module is None else getattr(module, "__file__", None)
    path = Path(written).absolute() if written else None
    return path.parent if path is not None and path.exists() else Path.cwd()


def folders(cls: type, attribute: str) -> Iterator[Path]:
    """The folders of a class and of those above it, up to the one that holds an attribute."""
    for one in cls.__mro__:
        if "base_directory" in vars(one):
            yield Path(vars(one)["base_directory"])
        if attribute in vars(one):
            return


def display_path(path: Path) -> str:
    """How messages name a file: from the working directory, where it lies below."""
    try:
        return path.relative_to(Path.cwd()).as_posix()
    except ValueError:
        return str(path)
