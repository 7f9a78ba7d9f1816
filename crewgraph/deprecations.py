"""Warnings attributed to the user's code, including those about usage of older CrewAI versions."""

import sys
import warnings

_LIBRARIES = ("crewgraph", "crewgraph_compat", "pydantic", "langgraph")

_already_warned: set[str] = set()


class Outdated(UserWarning):
    """The program uses an API of an older CrewAI, which still works; the message names the replacement."""


class UnknownKeyword(UserWarning):
    """A constructor received an unknown keyword, which was ignored."""


def warn_deprecated(what: str, instead: str, *, by_hand: bool = False) -> None:
    """Warn once per process about deprecated usage that still works.

    Args:
        what: the deprecated usage, as the beginning of a sentence: "`verbose=2` of a crew is a number".
        instead: the replacement: "write `verbose=True`".
        by_hand: whether it must be rewritten manually because `crewgraph migrate` cannot do it.
    """
    if what in _already_warned:
        return
    _already_warned.add(what)
    how = "Change it by hand." if by_hand else "`crewgraph migrate` rewrites it in code."
    warnings.warn(f"{what}: {instead}. {how}", Outdated, stacklevel=user_stacklevel())


def user_stacklevel() -> int:
    """Return the `stacklevel` that attributes a warning of the calling function to the user's code."""
    frame, level = sys._getframe(1), 1  # pyright: ignore[reportPrivateUsage]
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] in _LIBRARIES:
        frame, level = frame.f_back, level + 1
    return level
