"""The Pythons that a project says it runs on, where crewgraph needs newer ones."""

import re

from crewgraph_compat.moving.reading import Note

__all__ = ["LOWEST", "bound", "too_old"]

LOWEST = 11
"""crewgraph needs Python 3.11."""

_RANGE = re.compile(r"^\s*(?P<sign>>=|\^)\s*(?P<version>3\.(?P<minor>\d+)(?:\.\d+)?)(?P<rest>\s*(?:,.*)?)$")
_FIRST = re.compile(r"(?P<sign>>=|<=|==|~=|[\^~<>])?\s*3\.(?P<minor>\d+)")
_LAST = re.compile(r"<(?P<is_with>=?)\s*3\.(?P<minor>\d+)")


def bound(said: str, file: str, line: int) -> tuple[str, list[Note]]:
    """A range of Pythons with its lower bound raised where that leaves something, and what is told of it."""
    if not _is_too_old(said):
        return said, []
    form = _RANGE.match(said)
    if form is None or _ends_before(form["rest"]):
        return said, too_old(said, file, line)
    raised = f"{said[: form.start('version')]}3.{LOWEST}{form['rest']}"
    return raised, [Note(file, line, f"crewgraph needs Python 3.{LOWEST} or newer: the lower bound is raised.")]


def too_old(said: str, file: str, line: int) -> list[Note]:
    """What is told of a range of Pythons that begins below crewgraph's; nothing where it does not."""
    if not _is_too_old(said):
        return []
    return [Note(file, line, f"crewgraph needs Python 3.{LOWEST} or newer, and `{said.strip()}` allows older ones.")]


def _is_too_old(said: str) -> bool:
    first = _FIRST.search(said)
    return first is not None and first["sign"] not in ("<", "<=") and int(first["minor"]) < LOWEST


def _ends_before(rest: str) -> bool:
    last = _LAST.search(rest)
    return last is not None and int(last["minor"]) < LOWEST + (not last["is_with"])
