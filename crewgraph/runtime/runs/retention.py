"""Removal of a run's older checkpoints during the run, as `keep_history` requests."""

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from langgraph.checkpoint.base import BaseCheckpointSaver

from crewgraph.core.operations import Do, Program, blocking
from crewgraph.definitions.crew.process import max_stored_checkpoints
from crewgraph.deprecations import user_stacklevel

if TYPE_CHECKING:
    from crewgraph.compiler.flow.algebra import GraphState
    from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer


_TRIM_INTERVAL = 64
"""The number of steps between two trims; larger if more checkpoints are kept, so that the cost per step is constant."""


class Retention:
    """Decides how many checkpoints of a run to keep and when to remove the others.

    Args:
        keep_history: the value of `keep_history`.
        owner: the crew or flow, for messages.
        saver: the checkpointer; None if the run is not stored or its thread belongs to another run.
        thread_id: the run's thread.
        of_flow: whether the run is a flow's, which may have nested threads.

    Raises:
        DefinitionError: `keep_history` is invalid.
    """

    def __init__(
        self, keep_history: object, owner: str, saver: Any, thread_id: str | None, *, of_flow: bool = False
    ) -> None:
        count = max_stored_checkpoints(keep_history, owner)
        self._saver, self._thread_id, self._of_flow, self._steps = saver, thread_id, of_flow, 0
        self._count = (
            count if saver is not None and thread_id is not None and _is_supported(saver, count, owner) else None
        )

    def stepped(self) -> Do | None:
        """Count a completed step of the run; return the removal to run now, None after most steps."""
        self._steps += 1
        if self._count is None or self._steps < max(_TRIM_INTERVAL, self._count):
            return None
        return self._removal(shrink=False)

    def trim(self, *, shrink: bool = True) -> Program[None]:
        """Remove the older checkpoints.

        Args:
            shrink: whether to return free pages to the disk; else later steps reuse them.
        """
        if (removal := self._removal(shrink=shrink)) is not None:
            yield removal

    def _removal(self, *, shrink: bool) -> Do | None:
        self._steps = 0
        saver, thread_id, count = self._saver, self._thread_id or "", self._count
        if count is None:
            return None
        from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer

        if isinstance(saver, SqliteCheckpointer):
            return blocking(_trim, saver, thread_id, count, self._of_flow, shrink)
        return Do(saver.prune, saver.aprune, [thread_id])


def _trim(saver: "SqliteCheckpointer", thread_id: str, count: int, of_flow: bool, shrink: bool) -> None:
    """Remove a run's checkpoints except the latest ones.

    Everything a resume needs stays: the latest checkpoint with all later writes, and the nested runs of methods in flight. If
    the process dies meanwhile, some older checkpoints remain and nothing else is lost.
    """
    saver.prune([thread_id], count=count, shrink=shrink)
    if of_flow and (
        inside := [nested for nested in saver.threads(f"{thread_id}/") if _is_nested_in(nested, thread_id)]
    ):
        needed = tuple(_needed(saver, thread_id))
        saver.prune([nested for nested in inside if not nested.startswith(needed)], strategy="delete", shrink=shrink)


def _is_nested_in(nested: str, thread_id: str) -> bool:
    """Return whether a thread belongs to a run nested in that of another one, at any depth."""
    from crewgraph.compiler.flow.record import enclosing_thread

    parent = enclosing_thread(nested)
    return parent is not None and (parent == thread_id or _is_nested_in(parent, thread_id))


def _needed(saver: "SqliteCheckpointer", thread_id: str) -> Iterator[str]:
    """Yield the name prefixes of the nested threads that continuing from a remaining checkpoint may need."""
    from crewgraph.compiler.flow.record import threads_of

    for stored in saver.list({"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}):
        values: GraphState = stored.checkpoint["channel_values"]
        if "progress" in values:
            progress = values["progress"]
            for execution in progress["inflight"]:
                yield threads_of(thread_id, progress["run"], execution)


def _is_supported(saver: object, count: int | None, owner: str) -> bool:
    """Return whether a checkpointer can keep this number of checkpoints; warn if it cannot."""
    from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer

    if count is None or isinstance(saver, SqliteCheckpointer):
        return True
    base, kind = cast("Any", BaseCheckpointSaver), cast("type[BaseCheckpointSaver[Any]]", type(saver))
    prunes = kind.prune is not base.prune or kind.aprune is not base.aprune
    if count == 1 and prunes:
        return True
    unsupported = f"the latest {count} checkpoints" if prunes else "single checkpoints"
    warnings.warn(
        f"`keep_history` of {owner} has no effect: a `{kind.__name__}` cannot keep or remove {unsupported}, so all of them stay. "
        f"Use a `SqliteCheckpointer`{', or `latest`' if prunes else ''}, or leave `keep_history` out.",
        stacklevel=user_stacklevel(),
    )
    return False
