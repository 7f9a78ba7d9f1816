"""Whether the runs of a context stay off the console, whatever `verbose` says."""

from contextvars import ContextVar

__all__ = ["QUIET"]

QUIET: ContextVar[bool] = ContextVar("crewgraph_quiet_console", default=False)
"""Whether they do."""
