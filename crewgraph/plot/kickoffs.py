"""Whether a method calls a crew, as far as its code tells."""

import dis
import inspect
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

__all__ = ["VERBS", "calls_crew"]

VERBS = frozenset(
    {
        "akickoff",
        "akickoff_for_each",
        "kickoff",
        "kickoff_async",
        "kickoff_for_each",
        "kickoff_for_each_async",
    }
)
"""What begins the run of a crew."""

_READS = frozenset({"LOAD_ATTR", "LOAD_METHOD"})


def calls_crew(function: Callable[..., Any]) -> bool:
    """Whether a function's code names one of the verbs as an attribute of something.

    A guess, made without running anything: an agent or another flow that is kicked off looks the same, a crew that is
    kicked off in a function that this one calls is not seen, and code that is never reached counts.
    """
    code: CodeType | None = getattr(inspect.unwrap(function), "__code__", None)
    return code is not None and any(name in VERBS for name in _read(code))


def _read(code: CodeType) -> Iterator[str]:
    """The attributes that code reads, the functions inside it included."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in _READS:
            yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _read(constant)
