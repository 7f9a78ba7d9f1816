"""Names that a crewai module merely imports from elsewhere, and that programs import from it, too.

They are read from a data file, and only when a requested name is not in the table.
"""

import json
from functools import cache
from pathlib import Path

from crewgraph_compat.surface.table import TABLE

__all__ = ["names_of", "origin", "target"]

_FILE = Path(__file__).with_name("table") / "reexports.json"


@cache
def _origins() -> dict[str, dict[str, str]]:
    results: dict[str, dict[str, str]] = json.loads(_FILE.read_text("utf-8"))
    return results


def origin(module: str, name: str) -> str | None:
    """Return where a module imports a name from: a dotted path, or "package:name" outside of crewai."""
    return _origins().get(module, {}).get(name)


def names_of(module: str) -> list[str]:
    """Return the names of a module that crewgraph provides: its own, and those that it imports from elsewhere in crewai."""
    imported = (name for name, path in _origins().get(module, {}).items() if ":" not in path)
    return sorted({*TABLE[module], *(name for name in imported if target(module, name) is not None)})


def target(module: str, name: str) -> str | None:
    """Return the "module:name" that a module's name maps to; None if it is unknown or has no equivalent."""
    own = TABLE.get(module, {}).get(name)
    if own is not None:
        return own
    path = origin(module, name)
    if path is None or ":" in path:
        return path
    home, _, original = path.rpartition(".")
    return target(home, original)
