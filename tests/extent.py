"""The extent of a test run: quick, or everything (`make test-all`, or `ALL=1` in the environment).

In the quick run each way to run a thing and each granularity is passed through, but not each pair of them, random examples are
fewer, and of long tables of kills a sample is drawn.
"""

import os

__all__ = ["ALL", "CREW_MODES", "FLOW_MODES", "of"]

ALL = os.environ.get("ALL", "") not in ("", "0")

CREW_MODES = ["sync", "async", "sync-step", "async-step"] if ALL else ["sync", "async-step"]
"""The ways to run a crew: called how, and with tasks or with an agent's steps as nodes."""

_FLOW_MODES = [("method", "async"), ("flow", "sync"), ("method", "sync"), ("flow", "async")]
FLOW_MODES = _FLOW_MODES if ALL else _FLOW_MODES[:2]
"""The ways to run a flow: with methods or with the flow as a node, and called how."""


def of(quick: int, everything: int) -> int:
    """How many examples are tried."""
    return everything if ALL else quick
