"""The extent of a test run: quick, or everything (`make test-all`, or `ALL=1` in the environment).

The quick run covers each mode and each granularity, but not all pairs of them, with fewer random examples and a sample of the
long tables of kills.
"""

import os

__all__ = ["ALL", "CREW_MODES", "of"]

ALL = os.environ.get("ALL", "") not in ("", "0")

CREW_MODES = ["sync", "async", "sync-step", "async-step"] if ALL else ["sync", "async-step"]
"""The modes of crews: sync or async, with a node per task or per step."""


def of(quick: int, everything: int) -> int:
    """Return the number of examples to try."""
    return everything if ALL else quick
