"""Ids of checkpoints that grow within a thread, whatever the clock says.

A saver's latest checkpoint of a thread is the one with the greatest id, and LangGraph makes ids from the clock. A process whose
clock is behind that of the last writer would store its checkpoints below those that are there, where no resume finds them.
LangGraph's source of ids never goes back within a process, so it is enough to move it past the thread's latest id before a run
makes ids of its own. Ids of a clock that is ahead are followed until the other clocks catch up.

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
    """Let all ids that LangGraph makes in this process from now on be greater than this one.

    Ids of another form, which LangGraph did not make, are left alone: they are ordered as text, and nothing can be made of that.
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
        ValueError: it is no UUID.
    """
    number = UUID(checkpoint_id).int
    return (number >> 80) << 12 | (number >> 64) & 0x0FFF
