"""Ids of checkpoints that increase within a thread, independent of the clock.

A saver's latest checkpoint of a thread is the one with the greatest id, and LangGraph derives ids from the clock. A process
whose clock is behind that of the last writer would store its checkpoints below the existing ones, where no resume finds them.
LangGraph's source of ids never goes back within a process, so it is enough to advance it past the thread's latest id before a
run creates ids. If another clock is ahead, its ids are followed until the local clock catches up.

`tests/core/test_checkpoint_ids.py` checks what this relies on.
"""

import threading
from typing import Any, cast
from uuid import UUID

from langgraph.checkpoint.base import id as _source

__all__ = ["move_past"]

_LAST = "_last_v6_timestamp"
_ID_LENGTH = 36
_VERSION = 14  # the position of the version's digit in the text of an id

_lock = threading.Lock()


def move_past(checkpoint_id: str | None) -> None:
    """Make all future ids of LangGraph in this process greater than this one.

    Ids that are not LangGraph's are ignored: they are ordered as text and hold no time.
    """
    if checkpoint_id is None or len(checkpoint_id) != _ID_LENGTH or checkpoint_id[_VERSION] != "6":
        return
    try:
        timestamp = _timestamp(checkpoint_id)
    except ValueError:
        return
    names = cast("dict[str, Any]", vars(_source))
    if timestamp <= (names[_LAST] or 0):
        return
    with _lock:
        if timestamp > (names[_LAST] or 0):
            names[_LAST] = timestamp


def _timestamp(checkpoint_id: str) -> int:
    """Return the 100 ns intervals that a UUID of version 6 counts (RFC 9562, section 5.6).

    Raises:
        ValueError: it is not a UUID.
    """
    number = UUID(checkpoint_id).int
    return (number >> 80) << 12 | (number >> 64) & 0x0FFF
