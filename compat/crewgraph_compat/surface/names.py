"""Find the crewgraph object that a name of CrewAI stands for."""

import importlib
import re
from functools import cache
from pathlib import Path

from crewgraph_compat.surface.table import EXPORTED, HOMES, IMPORTING, RENAMED

_NAME = re.compile(r'"(\w+)"')


def _with_packages(path: str) -> list[str]:
    parts = path.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts) + 1)]


_OWNERS = frozenset({*HOMES, *(path.rpartition(".")[0] for path in RENAMED)})

MODULES: frozenset[str] = frozenset(
    path
    for module in (*_OWNERS, *(f"crewai.{module}" for module in IMPORTING.split()))
    for path in _with_packages(module)
)
"""The modules of CrewAI that can be imported, and their packages."""


@cache
def exports(home: str) -> frozenset[str]:
    """Return what a module of crewgraph lists in `__all__`, without importing it."""
    root, *parts = home.split(".")
    path = Path(str(importlib.import_module(root).__file__)).parent.joinpath(*parts)
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    listed = file.read_text("utf-8").partition("\n__all__ = [")[2].partition("]")[0]
    return frozenset(_NAME.findall(listed))


@cache
def _rows(module: str) -> dict[str, str]:
    """Return the names that a module of CrewAI defines or exports, each with its "module:name"."""
    rows: dict[str, str] = {}
    for home in reversed(HOMES.get(module, "").split()):
        rows |= {name: f"{home}:{name}" for name in exports(home)}
    if module in EXPORTED:
        rows = {name: rows[name] for name in EXPORTED[module].split()}
    renamed = ((path.rpartition("."), where) for path, where in RENAMED.items())
    return rows | {name: where for (owner, _, name), where in renamed if owner == module}


@cache
def _index() -> dict[str, dict[str, str]]:
    """Return each name with the modules of CrewAI that have it and their "module:name"."""
    found: dict[str, dict[str, str]] = {}
    for module in sorted(_OWNERS):
        for name, where in _rows(module).items():
            found.setdefault(name, {})[module] = where
    return found


def names_of(module: str) -> list[str]:
    """Return the names that a module of CrewAI defines or exports."""
    return sorted(_rows(module))


def own_target(module: str, name: str) -> str | None:
    """Return the "module:name" of a name that a module of CrewAI defines or exports; None for any other name."""
    return _rows(module).get(name)


def target(module: str, name: str) -> str | None:
    """Return the "module:name" that a module's name maps to; None if it is unknown or has no equivalent.

    CrewAI's modules import names from each other, and programs import them from anywhere: a module that does not have a name
    itself has the only object with that name.
    """
    own = own_target(module, name)
    if own is not None or module in EXPORTED or module not in MODULES:
        return own
    named = targets_named(name)
    return named[0] if len(named) == 1 else None


def targets_named(name: str) -> list[str]:
    """Return the objects that CrewAI's modules have under a name, as "module:name"; those that are called so if there are any."""
    targets = sorted(set(_index().get(name, {}).values()))
    return [where for where in targets if where.endswith(f":{name}")] or targets


def modules_with(name: str) -> list[str]:
    """Return the modules of CrewAI that have a name."""
    return list(_index().get(name, {}))
