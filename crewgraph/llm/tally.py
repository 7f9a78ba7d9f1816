"""Sums of what models reported while some code ran, over all that asked them."""

from contextvars import ContextVar
from threading import Lock

from crewgraph.core.messages import Usage
from crewgraph.llm.usage import UsageMetrics

__all__ = ["TALLIES", "Tally"]


class Tally:
    """A sum that several threads add to."""

    def __init__(self) -> None:
        self._sum, self._lock = UsageMetrics(), Lock()

    def count(self, usage: Usage | None) -> None:
        """Add one answered request; None where nothing was reported counts the request alone."""
        with self._lock:
            self._sum.count(usage)

    @property
    def total(self) -> UsageMetrics:
        """The sum so far."""
        with self._lock:
            return self._sum.model_copy()


TALLIES: ContextVar[tuple[Tally, ...]] = ContextVar("crewgraph_tallies", default=())
"""Those that the requests of the running code count in."""
