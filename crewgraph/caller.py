"""Where the program is that called us."""

import sys

__all__ = ["callers_level"]

_NOT_THE_PROGRAM = ("crewgraph", "crewgraph_compat", "pydantic", "langgraph")


def callers_level() -> int:
    """The `stacklevel` that makes a warning point at the line of the user's program."""
    frame, level = sys._getframe(1), 1  # pyright: ignore[reportPrivateUsage]
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] in _NOT_THE_PROGRAM:
        frame, level = frame.f_back, level + 1
    return level
