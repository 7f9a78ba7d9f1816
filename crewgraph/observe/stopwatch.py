"""How long things take, told from the events at their ends."""

from collections import defaultdict
from collections.abc import Hashable
from datetime import datetime, timedelta

__all__ = ["Stopwatch", "spoken"]


class Stopwatch:
    """Knows when what is under way began.

    Runs of one definition at the same time have the same keys. Which of them ends is then not known, so
    nothing is said about how long it took.
    """

    def __init__(self) -> None:
        self._began: defaultdict[Hashable, list[datetime | None]] = defaultdict(list)

    def start(self, key: Hashable, at: datetime) -> None:
        """Note that something begins."""
        self._began[key].append(at)

    def stop(self, key: Hashable, at: datetime) -> timedelta | None:
        """Note that something ends; how long it took, None where that is not known."""
        began = self._began.pop(key, [])
        if len(began) > 1:
            self._began[key] = [None] * (len(began) - 1)
            return None
        return at - began[0] if began and began[0] is not None else None


def spoken(duration: timedelta) -> str:
    """A duration as people say it: `40 ms`, `3.2 s`, `2 min 05 s`."""
    seconds = duration.total_seconds()
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s"
