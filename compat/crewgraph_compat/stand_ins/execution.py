"""The name of the run that the running code belongs to."""

from contextlib import ExitStack
from contextvars import ContextVar, Token
from dataclasses import dataclass
from types import TracebackType
from typing import Any
from uuid import uuid4

from crewgraph.events.lineage import run_id

__all__ = [
    "ExecutionTrace",
    "begin_execution",
    "clear_execution_uuid",
    "end_execution",
    "get_execution_uuid",
    "set_execution_uuid",
]

_OWN: ContextVar[str | None] = ContextVar("crewgraph_compat_execution", default=None)
_TRACES: ContextVar["ExecutionTrace | None"] = ContextVar("crewgraph_compat_trace", default=None)


@dataclass
class ExecutionTrace:
    """What is to be cleaned up when an execution ends."""

    session: Any
    """Whatever records it; CrewAI's own recorder is none of crewgraph's."""

    cleanup: ExitStack
    """What is done at the end."""

    closed: bool = False
    """Whether it was done."""

    def finish(
        self,
        error_type: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        """Clean up, once."""
        if not self.closed:
            self.closed = True
            self.cleanup.__exit__(error_type, error, traceback)


def get_execution_uuid() -> str | None:
    """The name of the execution around the running code: the one that was set, else that of the run of a crew or a flow."""
    return _OWN.get() or run_id()


def set_execution_uuid(execution_uuid: str) -> Token[str | None]:
    """Name the execution; `clear_execution_uuid` takes it back."""
    return _OWN.set(execution_uuid)


def clear_execution_uuid(token: Token[str | None]) -> None:
    """Name it as before."""
    _OWN.reset(token)


def begin_execution(
    execution_uuid: str | None = None, *, tracing: bool | None = None, trace_session: ExecutionTrace | None = None
) -> Token[str | None] | None:
    """Begin an execution.

    Args:
        execution_uuid: its name; made where None.
        tracing: without effect.
        trace_session: what is cleaned up at its end.

    Returns:
        What `end_execution` takes; None where one is under way, whose part this is then.
    """
    if get_execution_uuid() is not None:
        return None
    if trace_session is not None:
        _TRACES.set(trace_session)
    return _OWN.set(execution_uuid or str(uuid4()))


def end_execution(token: Token[str | None] | None, *, defer: bool = False) -> ExecutionTrace | None:
    """End an execution that was begun here; with None, nothing is ended.

    Returns:
        What is to be cleaned up, where that is to wait (`defer`).
    """
    if token is None:
        return None
    _OWN.reset(token)
    trace = _TRACES.get()
    _TRACES.set(None)
    if trace is None or defer:
        return trace
    trace.finish()
    return None
