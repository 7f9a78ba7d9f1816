"""One thing to see of a run."""

from collections.abc import Hashable
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum

__all__ = ["Line", "Mood"]

_TEXT = 300
_BODY = 4000


class Mood(Enum):
    """How a line is meant."""

    START = "start"
    STEP = "step"
    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"


@dataclass(frozen=True, kw_only=True)
class Line:
    """One thing to see; its texts are as they came and are cut and cleaned where they are printed."""

    where: str
    """The task, crew or flow it belongs to."""

    what: str
    """What happened, in a few words that stay the same."""

    text: str = ""
    """What there is to say about it, shown on one line."""

    limit: int = _TEXT
    """How much of the text is shown, in characters."""

    body: str = ""
    """A longer text with lines of its own."""

    body_limit: int = _BODY
    """How much of the body is shown, in characters."""

    mood: Mood = Mood.STEP
    """How it is meant."""

    begins: Hashable = None
    """What begins here, so that its end can tell how long it took."""

    ends: Hashable = None
    """What ends here."""

    took: timedelta | None = None
    """How long it took, where the event itself knows."""
