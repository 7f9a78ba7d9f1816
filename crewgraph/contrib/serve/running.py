"""Runs of the server: their execution, and their events, readable from any position.

`LocalRuns` executes runs in tasks of the event loop, one at a time per thread, and keeps their events in memory; with the same
methods, `crewgraph.contrib.serve.queued` leaves them to workers.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast
from weakref import WeakValueDictionary

from langgraph.checkpoint.base import BaseCheckpointSaver

from crewgraph.contrib.serve.execution import RunExecution
from crewgraph.contrib.serve.records import Records, RunRecord
from crewgraph.contrib.serve.wire import Event
from crewgraph.core.cancellation import ExitRequested, Supervision, supervised
from crewgraph.core.loops.bridge import in_thread
from crewgraph.errors import CrewgraphError, RunError, ThreadBusy
from crewgraph.storage.claims.keepers import claim_keeper

MAX_STORED_EVENTS = 20_000
"""Maximum number of events kept per run: the latest ones."""

HEARTBEAT = 15.0
"""Seconds without an event after which a reader gets a heartbeat."""

_MAX_STORED_BYTES = 16 << 20  # of the events of a run
_MAX_ENDED_RUNS = 200  # whose events stay readable
_MAX_ENDED_BYTES = 64 << 20  # of their events
_BUSY_RETRY_DELAY = 0.5  # seconds; while another process runs the thread


Locks = WeakValueDictionary[str, asyncio.Lock]
"""A lock per thread, dropped when no task holds it or waits for it."""


class RunEvents:
    """The events of a run, for any number of readers. The oldest are dropped when they become too many or too large."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque()
        self._dropped = 0
        self._changed = asyncio.Condition()
        self.size = 0
        """Length of the data of the stored events."""

        self.is_over = False
        """Whether no further event will follow."""

        self.values: Any = None
        """The final values, once the run is over."""

        self.attempt = 1
        self.began = time.time()

    @property
    def _last(self) -> int:
        """The number of the latest event."""
        return self._dropped + len(self._events)

    async def add(self, event: Event) -> None:
        """Add an event and wake the readers."""
        async with self._changed:
            self._events.append(event)
            self.size += len(event.data)
            while len(self._events) > MAX_STORED_EVENTS or (self.size > _MAX_STORED_BYTES and len(self._events) > 1):
                self.size -= len(self._events.popleft().data)
                self._dropped += 1
            self._changed.notify_all()
        # A run whose events come without a pause leaves time to its readers and to other requests.
        await asyncio.sleep(0)

    async def flush(self) -> None:
        """Do nothing: readers receive an event as soon as it is added."""

    async def end(self) -> None:
        """Let the readers end."""
        async with self._changed:
            self.is_over = True
            self._changed.notify_all()

    async def wait(self) -> None:
        """Wait for the end of the run."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.is_over)

    async def read(self, after: int = 0) -> AsyncIterator[tuple[int, Event] | None]:
        """Yield numbered events after a position until the run ends; None as a heartbeat."""
        position = after
        while True:
            while position < self._last:
                position = max(position, self._dropped) + 1
                yield position, self._events[position - self._dropped - 1]
            if self.is_over:
                return
            if not await self._has_changed(position):
                yield None

    async def _has_changed(self, position: int) -> bool:
        """Wait for an event after a position, or the end; return False on timeout."""
        try:
            async with asyncio.timeout(HEARTBEAT), self._changed:
                await self._changed.wait_for(lambda: self.is_over or position < self._last)
        except TimeoutError:
            return False
        return True


class LocalRuns:
    """Runs that execute in this process."""

    def __init__(
        self, graphs: Mapping[str, Any], saver: "BaseCheckpointSaver[Any]", records: Records, concurrency: int
    ) -> None:
        self._graphs, self._saver, self._records = graphs, saver, records
        self._execution = RunExecution(saver, records, retries_records=True)
        self._slots = asyncio.Semaphore(concurrency)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._events: dict[str, RunEvents] = {}  # in the order of their start
        self._doors, self._turns = Locks(), Locks()
        self._cancelled: set[str] = set()
        self._supervision = Supervision()
        self._closing: asyncio.Task[None] | None = None

    @property
    def is_closing(self) -> bool:
        """Whether no further runs are started."""
        return self._closing is not None

    async def take_up(self) -> None:
        """Resume the runs that an earlier server left."""
        for run in await self._records.open_runs():
            if run.graph_id in self._graphs and not run.is_queued:
                try:
                    delay = run.remaining_delay()
                except RunError as error:
                    await self._fail(run, error)
                else:
                    await self.start(run, delay)
        for run in await self._records.runs.find(is_stateless=True):
            if run.is_over:
                await self._execution.forget(run)

    async def _fail(self, run: RunRecord, error: RunError) -> None:
        events = self._events[run.run_id] = RunEvents()
        await self._execution.refuse(run, events, error)

    @asynccontextmanager
    async def door(self, thread_id: str) -> AsyncGenerator[None]:
        """Allow one caller at a time to start runs on a thread."""
        async with self._doors.setdefault(thread_id, asyncio.Lock()):
            yield

    async def start(self, run: RunRecord, delay: float = 0) -> RunEvents:
        """Start a run, after the earlier ones of its thread.

        Args:
            run: the record, which is stored.
            delay: seconds to wait before the start.
        """
        self._drop_ended()
        events = self._events[run.run_id] = RunEvents()
        self._tasks[run.run_id] = asyncio.create_task(self._play(run, events, delay), name=f"run {run.run_id}")
        return events

    def _drop_ended(self) -> None:
        """Drop the events of the runs that ended first, if they are too many or too large."""
        ended = [run_id for run_id, events in self._events.items() if events.is_over]
        size = 0
        for place, run_id in enumerate(reversed(ended)):
            size += self._events[run_id].size
            if place >= _MAX_ENDED_RUNS or size > _MAX_ENDED_BYTES:
                del self._events[run_id]

    async def events(self, run: RunRecord) -> RunEvents | None:
        """Return the events of a run; None if they have expired."""
        return self._events.get(run.run_id)

    async def is_open(self, run: RunRecord) -> bool:
        """Return whether a run is running or waits for its turn."""
        return run.run_id in self._tasks

    async def cancel(self, run: RunRecord, wait: bool = True) -> bool:
        """Stop a run after its current step; return whether it was open."""
        task = self._tasks.get(run.run_id)
        if task is None:
            return False
        self._cancelled.add(run.run_id)
        task.cancel()
        if wait:
            await asyncio.wait([task])
        return True

    async def close(self, patience: float) -> None:
        """Start no further runs, and end the streams. Runs that have not ended stay open.

        Concurrent calls are safe: each returns when the shutdown is complete.

        Args:
            patience: Seconds that runs of this process may take to stop; slower ones are abandoned.
        """
        if self._closing is None:
            self._closing = asyncio.create_task(self._stop_all(patience))
        await asyncio.shield(self._closing)

    async def _stop_all(self, patience: float) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=patience)
        for events in self._events.values():
            await events.end()

    async def _play(self, run: RunRecord, events: RunEvents, delay: float) -> None:
        try:
            if delay:
                await asyncio.sleep(delay)
            async with self._turns.setdefault(run.thread_id, asyncio.Lock()):
                while not await self._carry_out(run, events):
                    await asyncio.sleep(_BUSY_RETRY_DELAY)
        except asyncio.CancelledError as error:
            if run.run_id in self._cancelled:
                await self._execution.interrupt(run)
            elif not cast("asyncio.Task[None]", asyncio.current_task()).cancelling():
                await self._execution.fail(run, events, ExitRequested(error).error)
        finally:
            self._tasks.pop(run.run_id, None)
            self._cancelled.discard(run.run_id)
            await events.end()
            if run.is_over:
                await self._execution.forget(run)

    async def _carry_out(self, run: RunRecord, events: RunEvents) -> bool:
        """Execute a run; return False, having done nothing, if another process runs the thread."""
        async with self._slots:
            try:
                claim = await in_thread(claim_keeper(self._saver).claim, run.thread_id)
            except ThreadBusy:
                return False
            except CrewgraphError as error:
                await self._execution.fail(run, events, error)
                return True
            with supervised(self._supervision):
                await self._execution.carry_out(self._graphs[run.graph_id], run, events, claim)
        return True
