"""The past of a run, removed while the run goes on: as much of it is kept as `keep_history` says."""

import warnings
from collections.abc import Iterator, Mapping
from typing import Any, cast

from langgraph.checkpoint.base import BaseCheckpointSaver

from crewgraph.compiler.flow.completion import around, threads_of
from crewgraph.compiler.flow.graph import FlowGraph
from crewgraph.compiler.flow.plan import TriggerPlan
from crewgraph.compiler.flow.single_node import caught_up
from crewgraph.core.journal import appended_in
from crewgraph.core.loops.bridge import in_thread
from crewgraph.core.operations import Operation
from crewgraph.definitions.crew.process import max_stored_checkpoints
from crewgraph.deprecations import user_stacklevel
from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer

__all__ = ["Retention", "Trim"]


_EVERY = 64
"""Steps between two looks at the past; more, where more is kept, so that each step costs the same. Where one node runs all
methods of a flow, a step is a thousand of them, and each has its look."""


class Retention:
    """How much of the past of one run is kept, and when the rest is removed.

    Args:
        wish: what `keep_history` says.
        whose: what says so, for messages.
        saver: where the run is kept; None where it is nowhere, or in a thread that is not its own.
        thread_id: the run.
        flow: the flow's graph; None for a crew, inside which nothing has a thread of its own.

    Raises:
        DefinitionError: the wish is nothing that can be meant.
    """

    def __init__(
        self, wish: object, whose: str, saver: Any, thread_id: str | None, flow: FlowGraph | None = None
    ) -> None:
        count = max_stored_checkpoints(wish, whose)
        self._saver, self._thread_id, self._flow, self._steps = saver, thread_id, flow, 0
        self._every = 1 if flow is not None and flow.is_whole else _EVERY
        self._count = count if saver is not None and thread_id is not None and _can(saver, count, whose) else None

    def stepped(self) -> None:
        """A step of the run has ended."""
        self._steps += 1

    def due(self) -> "Trim | None":
        """What is to be done now; nothing for most steps."""
        if self._count is None or self._steps < max(self._every, self._count):
            return None
        return self.trim(shrink=False)

    def trim(self, *, shrink: bool = True) -> "Trim":
        """The removal of what is not to be kept.

        Args:
            shrink: whether the disk is given free pages back; else they are for the steps to come.
        """
        self._steps = 0
        return Trim(self._saver, self._thread_id or "", self._count, self._flow, shrink=shrink)


class Trim(Operation):
    """The removal of a run's past, but for its latest checkpoints and what belongs to them.

    What a resume needs stays: the latest checkpoint with all that was written since, and the runs inside of the methods that
    are in flight. A process that dies in the middle leaves some of the past, and nothing else.
    """

    def __init__(self, saver: Any, thread_id: str, count: int | None, flow: FlowGraph | None, *, shrink: bool) -> None:
        self.saver, self.thread_id, self.count, self.flow, self.shrink = saver, thread_id, count, flow, shrink

    def run(self) -> None:
        if self.count is None:
            return
        if isinstance(self.saver, SqliteCheckpointer):
            self._trim(self.saver, self.count)
        else:
            self.saver.prune([self.thread_id])

    async def arun(self) -> None:
        if self.count is None:
            return
        if isinstance(self.saver, SqliteCheckpointer):
            await in_thread(self._trim, self.saver, self.count)
        else:
            await self.saver.aprune([self.thread_id])

    def _trim(self, saver: SqliteCheckpointer, count: int) -> None:
        saver.prune([self.thread_id], count=count, shrink=self.shrink)
        if self.flow is not None:
            self._trim_inside(saver, self.flow.plan)

    def _trim_inside(self, saver: SqliteCheckpointer, plan: TriggerPlan) -> None:
        inside = [one for one in saver.threads(f"{self.thread_id}/") if self._is_inside(one)]
        if inside:
            needed = tuple(self._needed(saver, plan))
            done = [one for one in inside if not one.startswith(needed)]
            saver.prune(done, strategy="delete", shrink=self.shrink)

    def _is_inside(self, thread_id: str) -> bool:
        """Whether a thread is that of a run inside of this one, at any depth."""
        above = around(thread_id)
        return above is not None and (above == self.thread_id or self._is_inside(above))

    def _needed(self, saver: SqliteCheckpointer, plan: TriggerPlan) -> Iterator[str]:
        """What the threads begin with that a run which goes on from a checkpoint that is kept may go on with."""
        for kept in saver.list({"configurable": {"thread_id": self.thread_id, "checkpoint_ns": ""}}):
            values: Mapping[str, Any] = kept.checkpoint["channel_values"]
            if "progress" in values:
                now = caught_up(plan, values, appended_in(kept.pending_writes or ()))["progress"]
                for execution in {**values["progress"]["inflight"], **now["inflight"]}:
                    yield threads_of(self.thread_id, now["run"], execution)


def _can(saver: object, count: int | None, whose: str) -> bool:
    """Whether a checkpointer can keep so many; a warning where it cannot."""
    if count is None or isinstance(saver, SqliteCheckpointer):
        return True
    base, kind = cast("Any", BaseCheckpointSaver), cast("type[BaseCheckpointSaver[Any]]", type(saver))
    prunes = kind.prune is not base.prune or kind.aprune is not base.aprune
    if count == 1 and prunes:
        return True
    what = f"the latest {count} checkpoints" if prunes else "single checkpoints"
    warnings.warn(
        f"`keep_history` of {whose} has no effect: a `{kind.__name__}` cannot keep or remove {what}, so all of the past stays. "
        f"Use a `SqliteCheckpointer`{', or `latest`' if prunes else ''}, or leave `keep_history` out.",
        stacklevel=user_stacklevel(),
    )
    return False
