"""Warnings that point at a line of the user's program; among them those for programs written for an older CrewAI."""

import sys
import warnings

__all__ = ["Outdated", "user_stacklevel", "warn_deprecated"]

_LIBRARIES = ("crewgraph", "crewgraph_compat", "pydantic", "langgraph")

_already_warned: set[str] = set()


class Outdated(UserWarning):
    """A program is written for an older CrewAI; it runs, and the message says what to write instead."""


def warn_deprecated(what: str, instead: str, *, by_hand: bool = False) -> None:
    """Warn, once in a process, of deprecated usage that still works.

    Args:
        what: what the program does, as the beginning of a sentence: "`verbose=2` of a crew is a number".
        instead: what to write: "write `verbose=True`".
        by_hand: whether only people can rewrite it; `crewgraph migrate` leaves it, then.
    """
    if what in _already_warned:
        return
    _already_warned.add(what)
    who = "It is to be done by hand." if by_hand else "`crewgraph migrate` rewrites it in code."
    warnings.warn(f"{what}: {instead}. {who}", Outdated, stacklevel=user_stacklevel())


def user_stacklevel() -> int:
    """The `stacklevel` with which a warning of the calling function points at the user's program."""
    frame, level = sys._getframe(1), 1  # pyright: ignore[reportPrivateUsage]
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] in _LIBRARIES:
        frame, level = frame.f_back, level + 1
    return level
