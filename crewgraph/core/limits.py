"""What models use while something is done: a meter for each effect, and one for each run, which may have bounds.

Meters stand within each other: what is used inside of an effect is used by the run around it, too, and by the runs around
that. Each record of the journal holds what its effect used, so that a run that is gone on with knows what it spent before.
"""

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from crewgraph.core.messages import Usage
from crewgraph.core.usage import UsageCounter, UsageEntry, request_entry

__all__ = ["ASKING", "METER", "SPENT", "Meter", "Place", "Stopped", "check_limits", "metering"]


SPENT = "spent"
"""Where records and outputs hold what was spent for them: a dict with "used" and "at", both left out where empty."""


Place = tuple[str, str]
"""Namespace and id of a checkpoint."""


class Stopped(BaseException):
    """Raised where something that costs would be begun, and a run may not begin it; no `except Exception` holds it.

    Args:
        meter: the run's.
        why: makes what the run raises in its place, once everything in it has come to a stop.
    """

    def __init__(self, meter: "Meter", why: Callable[[], Exception]) -> None:
        super().__init__("a bound of the run is met")
        self.meter, self.why = meter, why


class Meter:
    """What models use while something is done.

    Args:
        around: the meter of what this is a part of.
    """

    def __init__(self, around: "Meter | None" = None) -> None:
        self.around = around
        self.at = 0.0
        """After how many seconds of its run the last part of it was done."""
        self._usage = UsageCounter()

    @property
    def used(self) -> list[UsageEntry]:
        """The sums so far."""
        return self._usage.entries

    def add(self, used: Iterable[object]) -> None:
        """Add sums, here alone."""
        self._usage.add(used)

    def charge(self, used: Iterable[object]) -> None:
        """Add sums, here and in all meters around."""
        told = list(used)
        for meter in self.chain:
            meter.add(told)

    def answered(self, who: str, model: str, usage: Usage | None) -> None:
        """Count an answered request, here and in all meters around; None where the provider reported nothing."""
        self.charge([request_entry(who, model, usage)])

    def count(self, record: Mapping[str, Any]) -> None:
        """Add what a record or an output says was spent for it, here alone."""
        spent: Mapping[str, Any] = record.get(SPENT) or {}
        self.add(spent.get("used", ()))
        self.at = max(self.at, spent.get("at", 0.0))

    @property
    def told(self) -> dict[str, object]:
        """What a record or an output says of it; nothing where there is nothing."""
        spent = {"used": [list(one) for one in self.used], "at": round(self.at, 3)}
        spent = {name: value for name, value in spent.items() if value}
        return {SPENT: spent} if spent else {}

    @property
    def chain(self) -> "Generator[Meter]":
        """This meter and those around, innermost first."""
        meter: Meter | None = self
        while meter is not None:
            yield meter
            meter = meter.around

    @property
    def clock(self) -> float:
        """How many seconds the innermost run has taken so far; 0 where there is none."""
        return 0.0 if self.around is None else self.around.clock

    @property
    def deadline(self) -> float | None:
        """When the time of a run around is up, on the monotonic clock."""
        return None if self.around is None else self.around.deadline

    def check(self, model: str | None) -> None:
        """Stop if this may not go on, or not with a model."""

    def recalls(self, place: Place, above: Iterable[Place]) -> bool:
        """Whether the innermost run has yet to hear what was spent at a checkpoint.

        Args:
            place: the checkpoint.
            above: all from the outermost graph's to the one that a node was started from.
        """
        return self.around is not None and self.around.recalls(place, above)

    def remember(self, place: Place, spent: Iterable[Mapping[str, object]]) -> None:
        """Hear what the records and outputs at a checkpoint say was spent for them."""
        before = Meter()
        for one in spent:
            before.count(one)
        self.hear(place, before, lambda: self.charge(before.used))

    def hear(self, place: Place, before: "Meter", charge: Callable[[], None]) -> None:
        """Let the innermost run hear what was spent at a checkpoint, once."""
        if self.around is not None:
            self.around.hear(place, before, charge)


METER: ContextVar[Meter | None] = ContextVar("crewgraph_meter", default=None)
"""The meter of what the running code is a part of; None where nobody counts."""

ASKING: ContextVar[bool] = ContextVar("crewgraph_asking", default=False)
"""Whether the running code is a part of a request that is counted as a whole."""


@contextmanager
def metering(meter: Meter | None) -> Generator[None]:
    """A block whose requests are counted by a meter."""
    token = METER.set(meter)
    try:
        yield
    finally:
        METER.reset(token)


def check_limits(model: str | None = None) -> None:
    """Stop here if a run around may not go on, or not ask a model.

    Raises:
        Stopped: it may not.
    """
    meter = METER.get()
    if meter is not None:
        for one in meter.chain:
            one.check(model)
