"""The threads of runs inside the methods of flows: `<the flow's thread>/<its run>/<the method's execution>/<number>`."""

import re

__all__ = ["around", "threads_of"]

_INSIDE = re.compile(r"(?P<around>.+)/[0-9a-f]{12}/[^/]+#\d+/\d+", re.DOTALL)


def threads_of(thread_id: str, run: str, execution: str) -> str:
    """What the threads of all runs inside an execution begin with.

    Args:
        thread_id: the flow's thread.
        run: what tells its run from others in this thread.
        execution: the execution's id.
    """
    return f"{thread_id}/{run}/{execution}/"


def around(thread_id: str) -> str | None:
    """The thread of the flow in whose method a run is; None for a run of its own."""
    found = _INSIDE.fullmatch(thread_id)
    return None if found is None else found["around"]
