"""Error messages for names and modules of crewai that crewgraph does not provide."""

import difflib

from crewgraph_compat.surface.absent import reason
from crewgraph_compat.surface.names import MODULES, modules_with, names_of

_FIRST = ("crewai", "crewai.tools", "crewai.events")
_WAY_OUT = "If the program depends on it, run it with crewai itself."


def missing_name_message(module: str, name: str) -> str:
    """Return the message for a name that a module does not have."""
    path = f"{module}.{name}"
    similar = difflib.get_close_matches(name, names_of(module), n=1, cutoff=0.8)
    elsewhere = sorted(modules_with(name), key=lambda place: (place not in _FIRST, place))
    if elsewhere:
        why = f"There is `{elsewhere[0]}.{name}`."
    elif similar:
        why = f"Did you mean `{similar[0]}`? {_WAY_OUT}"
    else:
        why = reason(path) or f"`dir({module})` lists the available names. {_WAY_OUT}"
    return f"{_not_provided(path)} {why}"


def missing_module_message(path: str) -> str:
    """Return the message for a module that does not exist."""
    similar = difflib.get_close_matches(path, MODULES - {path.rpartition(".")[0]}, n=1, cutoff=0.9)
    why = reason(path) or (f"Did you mean `{similar[0]}`? {_WAY_OUT}" if similar else _WAY_OUT)
    return f"{_not_provided(path)} {why}"


def _not_provided(path: str) -> str:
    return f"`{path}` is not provided by crewgraph, which stands in for crewai here."
