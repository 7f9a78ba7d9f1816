"""Dotted paths in texts, as `patch("crewai.Agent.kickoff")` has them."""

import re

import libcst

from crewgraph_compat.moving.names import home, is_module, meant, module_home
from crewgraph_compat.moving.reading import Reading, dotted

__all__ = ["rewrite_strings"]

_IMPORTING = frozenset({"importlib.import_module", "importlib.util.find_spec", "pytest.importorskip"})
"""Functions that import the module which they are given the name of, or look whether it is there."""

_PATH = re.compile(r"crewai(?:\.[A-Za-z_]\w*)*")


def rewrite_strings(reading: Reading) -> None:
    """Let texts that are nothing but a path of crewai's name what crewgraph has there; modules that nobody imports are told."""
    for text in reading.of(libcst.SimpleString):
        said = text.raw_value
        if "b" in text.prefix.lower() or not _PATH.fullmatch(said) or isinstance(reading.parent(text), libcst.Expr):
            continue
        name = None if is_module(said) else meant(said)
        module = module_home(said) if is_module(said) else None
        if name is not None:
            path = ".".join([*home(name), *name.rest])
            spelled = f"{text.prefix}{text.quote}{path}{text.quote}"
            reading.change(text, lambda updated, spelled=spelled: updated.with_changes(value=spelled))
        elif module is not None and _imported_by(reading, text) in _IMPORTING:
            spelled = f"{text.prefix}{text.quote}{module}{text.quote}"
            reading.change(text, lambda updated, spelled=spelled: updated.with_changes(value=spelled))
            if said != "crewai":
                reading.note(text, f"`{said}` is used as a module; `{module}` may not have the same names.")
        elif said != "crewai" or _is_asked_for(reading, text):
            here = "crewgraph has its own" if module is None else f"it is `{module}` in crewgraph"
            left = _imported_by(reading, text) in _IMPORTING
            reading.note(text, f'the text "{said}" stays as it is; if it is to name a module, {here}.', left=left)


def _imported_by(reading: Reading, text: libcst.SimpleString) -> str | None:
    """The function that is given a text first."""
    call = reading.parent(reading.parent(text) or text)
    if not isinstance(call, libcst.Call) or call.args[0].value is not text:
        return None
    return reading.path(call.func) or dotted(call.func)


def _is_asked_for(reading: Reading, text: libcst.SimpleString) -> bool:
    """Whether a function is given the name: one that imports, finds or logs."""
    parent = reading.parent(text)
    call = reading.parent(parent) if isinstance(parent, libcst.Arg) else None
    return isinstance(call, libcst.Call)
