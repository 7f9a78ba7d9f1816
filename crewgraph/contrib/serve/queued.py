"""Runs of a server that workers execute: enqueued, cancelled in the queue, and read from the events that workers write.

All state of a run is in the database: its record, its job and its events. So any number of servers may serve the same crews and
flows, and a restarted server loses nothing.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any, Self

from langgraph.checkpoint.base import BaseCheckpointSaver

from crewgraph.contrib.queue.queue import Queue
from crewgraph.contrib.queue.work import LOST, Work, state_of
from crewgraph.contrib.serve.execution import RunExecution
from crewgraph.contrib.serve.records import Records, RunRecord
from crewgraph.contrib.serve.running import Locks
from crewgraph.contrib.serve.streams import EventFeed, EventWriter, StoredEvents
from crewgraph.core.claims import ThreadClaim
from crewgraph.core.loops.bridge import in_thread
from crewgraph.crew import Crew
from crewgraph.errors import RunError, StorageError, ThreadBusy
from crewgraph.flow.flow import Flow
from crewgraph.redaction import redacted_logger
from crewgraph.storage.claims.keepers import claim_keeper

_logger = redacted_logger(__name__)

_POLL_INTERVAL = 3.0  # seconds: for open runs whose jobs have ended
_PRUNE_INTERVAL = 60.0  # seconds: for deleting old events
_START_RETRY_DELAY = 0.05  # seconds; while another server starts a run on the thread
_STOP_TIMEOUT = 60.0  # seconds for a worker to stop a run
_ENQUEUE_GRACE = 10.0  # seconds within which a new run may have no job yet


class QueuedRuns:
    """Runs that workers execute; see `LocalRuns`. Use it as a context manager.

    Args:
        queue: the queue.
        targets: the crews and flows by the ids of their graphs.
        saver: the checkpointer of the graphs.
        records: the records.
    """

    def __init__(
        self,
        queue: Queue,
        targets: Mapping[str, Crew | Flow[Any]],
        saver: "BaseCheckpointSaver[Any]",
        records: Records,
    ) -> None:
        self._queue, self._targets, self._saver, self._records = queue, targets, saver, records
        self._execution = RunExecution(saver, records)
        self._doors = Locks()
        self._refused: dict[str, StorageError] = {}
        self._feed: EventFeed
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        connections = await in_thread(self._queue.database.connections)
        await self._stack.enter_async_context(connections)
        self._feed = EventFeed(self._queue.database.url, connections)
        for work in (self._feed.listen(), self._maintain()):
            self._stack.push_async_callback(_cancelled, asyncio.create_task(work))
        self._stack.callback(self._feed.close)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.aclose()

    @property
    def is_closing(self) -> bool:
        return self._feed.is_closed

    async def take_up(self) -> None:
        for run in await self._records.open_runs():
            if run.graph_id in self._targets and not run.is_queued:  # of a server that had no queue
                run.is_queued = True
                await self._records.runs.put(run)
                await self._add(run)
        await self._settle_left()

    @asynccontextmanager
    async def door(self, thread_id: str) -> AsyncGenerator[None]:
        async with self._doors.setdefault(thread_id, asyncio.Lock()):
            claim: ThreadClaim | None = None
            while claim is None:
                try:  # other servers open the same door
                    claim = await in_thread(claim_keeper(self._saver).claim, f"crewgraph serve thread {thread_id}")
                except ThreadBusy:
                    await asyncio.sleep(_START_RETRY_DELAY)
            try:
                yield
            finally:
                claim.close()

    async def start(self, run: RunRecord, delay: float = 0) -> StoredEvents:
        try:
            await self._enqueue(run, delay)
        except StorageError as error:
            self._refused[run.run_id] = error
            with suppress(*LOST):  # `_settle_left` tries it again
                await self._fail(run, error)
            raise
        return StoredEvents(self._feed, run.run_id)

    async def events(self, run: RunRecord) -> StoredEvents | None:
        if run.is_over and not await self._feed.has_events(run.run_id):
            return None
        return StoredEvents(self._feed, run.run_id)

    async def is_open(self, run: RunRecord) -> bool:
        now = await self._records.runs.get(run.run_id)
        return now is not None and not now.is_over

    async def cancel(self, run: RunRecord, wait: bool = True) -> bool:
        if not await self.is_open(run):
            return False
        job = await self._job(run)
        if job is not None and await in_thread(self._queue.cancel_job, job):
            job = await self._job(run)
        if job is None or state_of(job) != "working":
            await self._interrupt(run)
        elif wait:
            try:
                async with asyncio.timeout(_STOP_TIMEOUT):
                    await StoredEvents(self._feed, run.run_id).wait()
            except TimeoutError:
                raise ThreadBusy(
                    f"run {run.run_id} was asked to stop, but no worker stopped it within {_STOP_TIMEOUT:g} seconds; check that "
                    "workers are running"
                ) from None
        return True

    async def close(self, patience: float) -> None:
        self._feed.close()

    async def _job(self, run: RunRecord) -> Any:
        found = await in_thread(self._queue.jobs_of_runs, {run.run_id: run.thread_id})
        return found.get(run.run_id)

    async def _add(self, run: RunRecord) -> None:
        try:
            delay = run.remaining_delay()
        except RunError as error:
            await self._fail(run, error)
        else:
            await self._enqueue(run, delay)

    async def _enqueue(self, run: RunRecord, delay: float) -> None:
        await in_thread(self._queue.add_run, self._targets[run.graph_id], run.thread_id, run.run_id, delay)

    async def _interrupt(self, run: RunRecord) -> None:
        """Record the end of a run that no worker has."""
        now = await self._records.runs.get(run.run_id)
        if now is None or now.is_over:
            return
        events = await EventWriter.opened(self._feed.connections, run.run_id)
        await self._execution.interrupt(now)
        await events.end()
        await self._execution.forget(now)

    async def _fail(self, run: RunRecord, error: RunError | StorageError) -> None:
        events = await EventWriter.opened(self._feed.connections, run.run_id)
        await self._execution.refuse(run, events, error)
        self._refused.pop(run.run_id, None)

    async def _maintain(self) -> None:
        pruned = -_PRUNE_INTERVAL
        while True:
            try:
                if time.monotonic() - pruned > _PRUNE_INTERVAL:
                    pruned = time.monotonic()
                    await self._feed.prune()
                await self._settle_left()
            except (*LOST, StorageError) as error:
                _logger.warning("Could not check for runs without a job: %s", error)
            await asyncio.sleep(_POLL_INTERVAL)

    async def _settle_left(self) -> None:
        """End the runs whose jobs have failed or were cancelled, and enqueue those that have no job."""
        left = {
            run.run_id: run
            for run in await self._records.open_runs()
            if run.is_queued and run.graph_id in self._targets
        }
        if not left:
            return
        jobs = await in_thread(self._queue.jobs_of_runs, {run_id: run.thread_id for run_id, run in left.items()})
        for run_id in left:
            job = jobs.get(run_id)
            state = None if job is None else state_of(job)
            if state in ("queued", "working"):
                continue
            run = await self._records.runs.get(run_id)  # it may have ended in between
            if run is None or run.is_over:
                continue
            if run_id in self._refused:  # its client has received the error
                await self._fail(run, self._refused[run_id])
            elif state == "cancelled":
                await self._interrupt(run)
            elif job is not None and state == "failed":
                await self._fail(run, RunError(f"the run failed for good: {Work.of(job).error}"))
            elif job is not None or abs((datetime.now(UTC) - run.created_at).total_seconds()) > _ENQUEUE_GRACE:
                await self._add(run)


async def _cancelled(task: "asyncio.Task[None]") -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
