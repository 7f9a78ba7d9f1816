"""Changes of a flow's state: the top-level values that changed, and under "$gone" the names of those that are there no more.

A run begins with "$anew": what an earlier one left in the thread is not part of its state.
"""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["ANEW", "GONE", "applied", "together"]

ANEW = "$anew"
GONE = "$gone"


def applied(before: dict[str, Any] | None, changed: Mapping[str, Any]) -> dict[str, Any]:
    """A state with changes."""
    gone: Sequence[str] = changed.get(GONE, ())
    both = changed if ANEW in changed else {**(before or {}), **changed}
    return {name: value for name, value in both.items() if name not in gone and name not in (ANEW, GONE)}


def together(first: dict[str, Any], then: Mapping[str, Any]) -> None:
    """Add changes to earlier ones."""
    if GONE not in first and GONE not in then:
        first.update(then)
        return
    gone = [name for name in first.pop(GONE, ()) if name not in then]
    first.update(then)
    for name in then.get(GONE, ()):
        first.pop(name, None)
    gone += then.get(GONE, ())
    first.pop(GONE, None)
    if gone:
        first[GONE] = gone
