"""Meters count what models use: one for each effect, and one for each run, which may have limits.

Meters nest: what an effect uses is used by the enclosing runs, too. Each record of the journal holds what its effect used, so
that a resumed run knows what it spent before.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from threading import Lock
from typing import Any, cast

from crewgraph.core.current import CURRENT
from crewgraph.core.messages import Usage
from crewgraph.schema import PlainMapping

SPENT = "spent"
"""The key under which records and outputs hold what was spent: a dict with "used" and "at", both left out when empty."""


Place = tuple[str, str]
"""Namespace and id of a checkpoint."""


class Stopped(BaseException):
    """Raised before something that costs, when a run has reached a limit; no `except Exception` catches it.

    Args:
        meter: the meter of that run.
        why: creates the exception that the run raises instead, once everything in it has stopped.
    """

    def __init__(self, meter: "Meter", why: Callable[[], Exception]) -> None:
        super().__init__("the run has reached a limit")
        self.meter, self.why = meter, why


UsageEntry = tuple[str, str, dict[str, int]]
"""The caller, the model and the sums by field, zeros left out; with "successful_requests"."""


def request_entry(who: str, model: str, usage: Usage | None) -> UsageEntry:
    """Return the entry of one answered request; `usage` is None if the provider reported none: it still counts."""
    if not usage:
        return who, model, {"successful_requests": 1}
    if usage.get("from_cache"):
        return who, model, {}
    tokens = {name: number for name, number in cast("Mapping[str, int]", usage).items() if number}
    return who, model, {**tokens, "successful_requests": 1}


_lock = Lock()  # one for all: sums are short, and a task has several counters


class UsageCounter:
    """Sums of usage by caller and model. Thread-safe."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, str], dict[str, int]] = {}

    def add(self, entries: Sequence[Any]) -> None:
        """Add entries, which records hold as lists."""
        with _lock:
            for who, model, tokens in entries:
                sums = self._sums.setdefault((who, model), {})
                for name, number in tokens.items():
                    sums[name] = sums.get(name, 0) + number

    @property
    def entries(self) -> list[UsageEntry]:
        """A copy of the sums so far, in the order of the first requests."""
        with _lock:
            return [(who, model, dict(sums)) for (who, model), sums in self._sums.items()]


class Meter(UsageCounter):
    """Counts what models use.

    Args:
        around: the enclosing meter.
    """

    node: str | None = None
    """The namespace of the node that the crew of a run is in a graph around it; None if it is none."""

    keys: Collection[str] = ()
    """The keys of its graph's state, and of the state of the graph around it, that tools may update."""

    def __init__(self, around: "Meter | None" = None) -> None:
        super().__init__()
        self.around = around
        self.at = 0.0
        """Seconds from the start of the run to the end of the last counted part."""
        self.model: str | None = None if around is None else around.model
        """The name of the model that the innermost run was given for all agents; None for their own."""

    def charge(self, entries: Sequence[UsageEntry]) -> None:
        """Add entries to this and all enclosing meters."""
        meter = self
        while meter is not None:
            meter.add(entries)
            meter = meter.around

    def answered(self, who: str, model: str, usage: Usage | None) -> None:
        """Count an answered request in this and all enclosing meters; `usage` is None if the provider reported none."""
        self.charge([request_entry(who, model, usage)])

    def count(self, record: PlainMapping) -> None:
        """Add what a record or an output holds as spent, to this meter only."""
        spent: PlainMapping | None = record.get(SPENT)
        if spent:
            self.add(spent.get("used", ()))
            self.at = max(self.at, spent.get("at", 0.0))

    @property
    def record_fields(self) -> dict[str, object]:
        """The "spent" item for a record or an output; empty if nothing was spent."""
        spent: dict[str, object] = {}
        if used := self.entries:
            spent["used"] = list(map(list, used))
        if at := round(self.at, 3):
            spent["at"] = at
        return {SPENT: spent} if spent else {}

    @property
    def run(self) -> "Meter":
        """The meter of the innermost run; this one outside of runs."""
        return self if self.around is None else self.around.run

    @property
    def clock(self) -> float:
        """Seconds that the innermost run has taken so far; 0 outside of runs."""
        return 0.0 if self.around is None else self.around.clock

    @property
    def deadline(self) -> float | None:
        """When the time of an enclosing run is up, on the monotonic clock; None without a limit."""
        return None if self.around is None else self.around.deadline

    def check(self, model: str | None) -> None:
        """Raise `Stopped` if a limit is reached, or does not allow requests to a model."""

    def recalls(self, place: Place, above: Iterable[Place]) -> bool:
        """Whether the innermost run has not yet counted what was spent at a checkpoint.

        Args:
            place: the checkpoint.
            above: the checkpoints from that of the outermost graph to the one that the node started from.
        """
        return self.around is not None and self.around.recalls(place, above)

    def remember(self, place: Place, spent: Iterable[Mapping[str, object]]) -> None:
        """Count what the records and outputs at a checkpoint hold as spent."""
        before = Meter()
        for meter in spent:
            before.count(meter)
        self.hear(place, before, lambda: self.charge(before.entries))

    def hear(self, place: Place, before: "Meter", charge: Callable[[], None]) -> None:
        """Let the innermost run count what was spent at a checkpoint, once."""
        if self.around is not None:
            self.around.hear(place, before, charge)


def run_meter() -> Meter:
    """Return the meter of the innermost run; an empty one outside of runs."""
    return (CURRENT.get().meter or Meter()).run


def check_limits(model: str | None = None) -> None:
    """Check the limits of all enclosing runs.

    Args:
        model: the model that is about to be called, if any.

    Raises:
        Stopped: a limit is reached.
    """
    meter = CURRENT.get().meter
    while meter is not None:
        meter.check(model)
        meter = meter.around
