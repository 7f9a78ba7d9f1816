"""Names that a module of crewai merely imports from another one; programs find them there, too.

Which these are is read from a file, and only when a name is asked for that no row of the table has.
"""

import json
from functools import cache
from pathlib import Path

from crewgraph_compat.surface.table import TABLE

__all__ = ["origin", "target"]

_FILE = Path(__file__).with_name("table") / "reexports.json"


@cache
def _origins() -> dict[str, dict[str, str]]:
    results: dict[str, dict[str, str]] = json.loads(_FILE.read_text("utf-8"))
    return results


def origin(module: str, name: str) -> str | None:
    """Where a name that a module merely imports comes from: a dotted path, or "package:name" where it is not crewai's."""
    return _origins().get(module, {}).get(name)


def target(module: str, name: str) -> str | None:
    """What a module's name is, "module:name"; None where there is no such name, or nothing stands for it."""
    own = TABLE.get(module, {}).get(name)
    if own is not None:
        return own
    path = origin(module, name)
    if path is None or ":" in path:
        return path
    home, _, original = path.rpartition(".")
    return target(home, original)
