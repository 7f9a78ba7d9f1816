"""Error messages for names and modules of crewai that crewgraph does not provide."""

import difflib

from crewgraph_compat.surface.absent import reason
from crewgraph_compat.surface.reexports import origin
from crewgraph_compat.surface.table import TABLE

__all__ = ["missing_module_message", "missing_name_message"]

_FIRST = ("crewai", "crewai.tools", "crewai.events")
_WAY_OUT = "If the program depends on it, run it with crewai itself."


def missing_name_message(module: str, name: str) -> str:
    """Return the message for a name that a module does not have."""
    path = f"{module}.{name}"
    why = reason(path) or reason(origin(module, name) or "")
    return f"{_not_provided(path)} {why or _elsewhere(name) or _similar(module, name)}"


def missing_module_message(path: str) -> str:
    """Return the message for a module that does not exist."""
    if why := reason(path):
        return f"{_not_provided(path)} {why}"
    above = path.rpartition(".")[0]
    while above not in TABLE:
        above = above.rpartition(".")[0]
    similar = difflib.get_close_matches(path, [module for module in TABLE if module != above], n=1, cutoff=0.85)
    hint = f"Did you mean `{similar[0]}`?" if similar else f"`dir({above})` lists the available names."
    return f"{_not_provided(path)} {hint} {_WAY_OUT}"


def _not_provided(path: str) -> str:
    return f"`{path}` is not provided by crewgraph, which stands in for crewai here."


def _elsewhere(name: str) -> str | None:
    places = sorted((module not in _FIRST, len(names), module) for module, names in TABLE.items() if name in names)
    return f"There is `{places[0][-1]}.{name}`." if places else None


def _similar(module: str, name: str) -> str:
    similar = difflib.get_close_matches(name, TABLE[module], n=1)
    hint = f"Did you mean `{similar[0]}`?" if similar else f"`dir({module})` lists the available names."
    return f"{hint} {_WAY_OUT}"
