"""What older programs write and newer ones write otherwise: it works, and is told once."""

import warnings

from crewgraph.caller import callers_level

__all__ = ["Outdated", "tell_outdated"]

_told: set[str] = set()


class Outdated(UserWarning):
    """A program is written for an older CrewAI; it runs, and the message says what to write instead."""


def tell_outdated(what: str, instead: str, *, by_hand: bool = False) -> None:
    """Warn, once in a process, that something is written in an old way.

    Args:
        what: what the program does, as the beginning of a sentence: "`verbose=2` of a crew is a number".
        instead: what to write: "write `verbose=True`".
        by_hand: whether only people can rewrite it; `crewgraph migrate` leaves it, then.
    """
    if what in _told:
        return
    _told.add(what)
    who = "It is to be done by hand." if by_hand else "`crewgraph migrate` rewrites it in code."
    warnings.warn(f"{what}: {instead}. {who}", Outdated, stacklevel=callers_level())
