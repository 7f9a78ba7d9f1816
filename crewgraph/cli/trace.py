"""Tracebacks that begin in the program, not in the command that runs it."""

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

__all__ = ["traced_from"]

_Hook = Callable[[type[BaseException], BaseException, TracebackType | None], Any]


def traced_from(file: str, hook: _Hook) -> _Hook:
    """An exception hook that is shown only what lies below the last frame of a file, and no frame of the import surface."""

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        error.with_traceback(_below(file, trace))
        for one in _told_with(error):
            one.with_traceback(_without_surface(one.__traceback__))
        hook(kind, error, error.__traceback__)

    return show


def _told_with(error: BaseException | None) -> Iterator[BaseException]:
    """An error and those that Python shows above it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _below(file: str, trace: TracebackType | None) -> TracebackType | None:
    below = trace
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            below = trace.tb_next
        trace = trace.tb_next
    while below is not None and _room(below) == "importlib":
        below = below.tb_next
    return below


def _without_surface(trace: TracebackType | None) -> TracebackType | None:
    kept: list[TracebackType] = []
    while trace is not None:
        if _room(trace) != "crewgraph_compat":
            kept.append(trace)
        trace = trace.tb_next
    below: TracebackType | None = None
    for one in reversed(kept):
        below = TracebackType(below, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return below


def _room(trace: TracebackType) -> str:
    return str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
