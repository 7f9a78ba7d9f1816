"""Dotted paths in texts, as `patch("crewai.Agent.kickoff")` has them."""

import re

import libcst

from crewgraph_compat.moving.names import home, is_module, meant
from crewgraph_compat.moving.reading import Reading

__all__ = ["rewrite_strings"]

_PATH = re.compile(r"crewai(?:\.[A-Za-z_]\w*)*")


def rewrite_strings(reading: Reading) -> None:
    """Let texts that are nothing but a path of crewai's name what crewgraph has there; modules alone are told."""
    for text in reading.of(libcst.SimpleString):
        said = text.raw_value
        if "b" in text.prefix.lower() or not _PATH.fullmatch(said) or isinstance(reading.parent(text), libcst.Expr):
            continue
        name = None if is_module(said) else meant(said)
        if name is not None:
            path = ".".join([*home(name), *name.rest])
            spelled = f"{text.prefix}{text.quote}{path}{text.quote}"
            reading.change(text, lambda updated, spelled=spelled: updated.with_changes(value=spelled))
        elif said != "crewai" or _is_asked_for(reading, text):
            reading.note(text, f'the text "{said}" stays as it is; if it is to name a module, crewgraph has its own.')


def _is_asked_for(reading: Reading, text: libcst.SimpleString) -> bool:
    """Whether a function is given the name: one that imports, finds or logs."""
    parent = reading.parent(text)
    call = reading.parent(parent) if isinstance(parent, libcst.Arg) else None
    return isinstance(call, libcst.Call)
