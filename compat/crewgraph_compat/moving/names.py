"""Which name of crewgraph a dotted path of crewai means, and where crewgraph's own programs import it from."""

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from crewgraph_compat.surface.absent import reason
from crewgraph_compat.surface.reexports import target
from crewgraph_compat.surface.table import TABLE

__all__ = ["Name", "found", "home", "is_module", "meant", "module_home", "names_of", "thing"]

_PUBLIC = (
    "crewgraph",
    "crewgraph.tools",
    "crewgraph.flow",
    "crewgraph.flow.persistence",
    "crewgraph.project",
    "crewgraph.knowledge",
    "crewgraph.memory",
    "crewgraph.events",
    "crewgraph.hooks",
    "crewgraph.checkpoints",
    "crewgraph.stores",
    "crewgraph.errors",
)
"""Where crewgraph's programs import from; the first that has a name is its home."""

_MODULES = {
    "crewai": "crewgraph",
    "crewai.events": "crewgraph.events",
    "crewai.flow": "crewgraph.flow",
    "crewai.flow.flow": "crewgraph.flow",
    "crewai.flow.persistence": "crewgraph.flow.persistence",
    "crewai.knowledge": "crewgraph.knowledge",
    "crewai.memory": "crewgraph.memory",
    "crewai.project": "crewgraph.project",
    "crewai.tools": "crewgraph.tools",
    "crewai.utilities.events": "crewgraph.events",
}
"""Modules that stand for a module of crewgraph as a whole."""

_FORMERLY = {
    "crewai_tools.BaseTool": "crewai.tools.BaseTool",
    "crewai_tools.Tool": "crewai.tools.base_tool.Tool",
    "crewai_tools.tool": "crewai.tools.tool",
    "crewai_tools.tools.base_tool.BaseTool": "crewai.tools.BaseTool",
    "crewai_tools.tools.base_tool.Tool": "crewai.tools.base_tool.Tool",
    "crewai_tools.tools.base_tool.tool": "crewai.tools.tool",
}
"""Names that stood elsewhere in older versions."""


@dataclass(frozen=True)
class Name:
    """A name of crewai, with what is behind it."""

    path: str
    """crewai's dotted path, as the program has it."""

    target: str
    """ "module:name" of crewgraph, as in the table."""

    rest: tuple[str, ...] = ()
    """Attributes of it, where the path goes on."""

    @property
    def module(self) -> str:
        """The module of crewgraph that defines it."""
        return self.target.partition(":")[0]

    @property
    def name(self) -> str:
        """What it is called in crewgraph."""
        return self.target.partition(":")[2]


def found(path: str) -> Name | None:
    """What a dotted path means: a module's name, and attributes behind it; None for modules, and where there is nothing."""
    path = _FORMERLY.get(path) or path
    if is_module(path):
        return None
    parts = path.split(".")
    for end in range(len(parts) - 1, 0, -1):
        where = target(".".join(parts[:end]), parts[end])
        if where is not None:
            return Name(path, where, tuple(parts[end + 1 :]))
    return None


def meant(path: str) -> Name | None:
    """What a dotted path means; where its module is none of the table, the one thing of this name that there is.

    Old programs name modules that have moved since. What is left out on purpose is not looked for.
    """
    if (name := found(path)) is not None or reason(path) is not None:
        return name
    module, _, last = path.rpartition(".")
    if module in TABLE or path in TABLE or not module.startswith("crewai."):
        return None
    targets = {names[last] for names in TABLE.values() if last in names}
    return Name(path, targets.pop()) if len(targets) == 1 else None


def is_module(path: str) -> bool:
    """Whether a path is a module of crewai; a name that a package has hides the module that is called so."""
    package, _, name = path.rpartition(".")
    return path in TABLE and name not in TABLE.get(package, ())


def names_of(module: str) -> dict[str, str]:
    """The names of a module of crewai, to "module:name"; none where there is no such module."""
    return TABLE.get(module, {})


def thing(name: Name) -> Any:
    """What is behind a name: crewgraph's own class, function or value."""
    return getattr(importlib.import_module(name.module), name.name)


def home(name: Name) -> tuple[str, str]:
    """The module that crewgraph's programs import a name from, and what it is called there."""
    return _home(name.target)


@cache
def _home(where: str) -> tuple[str, str]:
    module, _, name = where.partition(":")
    if module.partition(".")[0] != "crewgraph":  # what crewai's modules merely import, as of `typing`
        return module, name
    wanted = getattr(importlib.import_module(module), name)
    for place, offered in _offered():
        if name in offered and getattr(place, name) is wanted:
            return place.__name__, name
    return module, name


@cache
def _offered() -> tuple[tuple[Any, frozenset[str]], ...]:
    return tuple((module, frozenset(module.__all__)) for module in _imported())


def _imported() -> Iterator[Any]:
    for module in _PUBLIC:
        try:
            yield importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise


def module_home(module: str) -> str | None:
    """The module of crewgraph that stands for a module of crewai as a whole; None where there is none."""
    return _MODULES.get(module)
