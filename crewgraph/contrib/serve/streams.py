"""Events of runs in Postgres: workers write them, servers read them, and a notification announces new ones.

The table is in the schema of the queue; see `crewgraph.contrib.queue.database`. A row without an event marks the end of a
run and holds its final values.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any, Self
from weakref import WeakValueDictionary

import psycopg
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.postgres.aio import AsyncPostgresStore
from psycopg_pool import AsyncConnectionPool

from crewgraph.contrib.queue.work import LOST, is_lost_database
from crewgraph.contrib.serve.execution import RunExecution, served_graph
from crewgraph.contrib.serve.records import Records, RunRecord
from crewgraph.contrib.serve.running import HEARTBEAT, MAX_STORED_EVENTS
from crewgraph.contrib.serve.wire import Event, plain_json, to_json
from crewgraph.core.loops.bridge import in_thread
from crewgraph.crew import Crew
from crewgraph.flow.flow import Flow
from crewgraph.redaction import redacted_logger
from crewgraph.storage.claims.keepers import claim_keeper
from crewgraph.storage.postgres import AsyncBoundedConnection, bounded_address

_logger = redacted_logger(__name__)

_Pool = AsyncConnectionPool[Any]
_CHANNEL = "crewgraph_run_events"
_END = " end"
_BATCH_SIZE = 500  # events in one statement
_MAX_BACKLOG = 1000  # unwritten events; with more, the run waits for the writer
_RECONNECT_DELAY = 1.0  # seconds
_RETENTION = "10 minutes"  # for which the events of a run stay readable after its end

_WRITTEN = """
SELECT coalesce(max(number), 0) AS last, count(*) FILTER (WHERE event = 'metadata') AS attempts
FROM crewgraph_queue.run_events WHERE run_id = %(run)s
"""
_ADD = f"""
WITH added AS (
    INSERT INTO crewgraph_queue.run_events (run_id, number, event, data)
    SELECT %(run)s, * FROM unnest(%(numbers)s::int[], %(events)s::text[], %(data)s::text[])
    RETURNING number
)
SELECT pg_notify('{_CHANNEL}', %(note)s) FROM added LIMIT 1
"""
_READ = """
SELECT number, event, data FROM crewgraph_queue.run_events
WHERE run_id = %(run)s AND (number > %(after)s OR event IS NULL) ORDER BY number LIMIT %(limit)s
"""
_OUTCOME = "SELECT data FROM crewgraph_queue.run_events WHERE run_id = %(run)s AND event IS NULL LIMIT 1"
_HAS_EVENTS = "SELECT 1 FROM crewgraph_queue.run_events WHERE run_id = %(run)s LIMIT 1"
_TRIM = """
DELETE FROM crewgraph_queue.run_events WHERE run_id = %(run)s AND number <= %(last)s AND event <> 'metadata'
"""
_PRUNE = f"""
DELETE FROM crewgraph_queue.run_events WHERE run_id IN (
    SELECT run_id FROM crewgraph_queue.run_events WHERE event IS NULL AND made_at < now() - interval '{_RETENTION}'
)
"""


class EventWriter:
    """Writes the events of a run. What is added while a statement runs is written in one batch by the next.

    Only the holder of the claim on the run's thread may write.
    """

    def __init__(self, connections: "_Pool", run_id: str, written: int, attempts: int) -> None:
        self._connections, self._run_id, self._number = connections, run_id, written
        self._waiting: list[Event] = []
        self._writing: asyncio.Task[None] | None = None
        self.attempt = attempts + 1
        self.values: Any = None

    @classmethod
    async def opened(cls, connections: "_Pool", run_id: str) -> Self:
        """Return a writer that appends to what an earlier one has written."""
        async with connections.connection() as connection:
            row = await (await connection.execute(_WRITTEN, {"run": run_id})).fetchone()
        assert row is not None
        return cls(connections, run_id, row["last"], row["attempts"])

    async def add(self, event: Event) -> None:
        """Add an event; it is written soon.

        Raises:
            psycopg.Error: earlier events could not be written.
        """
        self._waiting.append(event)
        if self._writing is not None and self._writing.done():
            self._writing.result()
            self._writing = None
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_all(), name=f"events of run {self._run_id}")
        if len(self._waiting) > _MAX_BACKLOG:
            await self.flush()

    async def flush(self) -> None:
        """Wait until all added events are written.

        Raises:
            psycopg.Error: they cannot be written.
        """
        if self._writing is not None:
            await asyncio.shield(self._writing)
            self._writing = None

    async def end(self) -> None:
        """Write the end of the run, with its values."""
        await self.flush()
        self._number += 1
        await self._write([(self._number, None, to_json(self.values))], _END)

    async def _write_all(self) -> None:
        while self._waiting:
            part, self._waiting = self._waiting[:_BATCH_SIZE], self._waiting[_BATCH_SIZE:]
            rows: list[tuple[int, str | None, str]] = [
                (self._number + place, event.name, event.data) for place, event in enumerate(part, 1)
            ]
            before, self._number = self._number, self._number + len(part)
            await self._write(rows)
            last = self._number - MAX_STORED_EVENTS
            if last > 0 and self._number // _BATCH_SIZE > before // _BATCH_SIZE:  # the oldest events are too many
                async with self._connections.connection() as connection:
                    await connection.execute(_TRIM, {"run": self._run_id, "last": last})

    async def _write(self, rows: list[tuple[int, str | None, str]], end: str = "") -> None:
        numbers, events, data = zip(*rows, strict=True)
        arguments = {"numbers": list(numbers), "events": list(events), "data": list(data)}
        async with self._connections.connection() as connection:
            await connection.execute(_ADD, {"run": self._run_id, "note": f"{self._run_id}{end}", **arguments})


class EventFeed:
    """Notifies readers in this process of new events while `listen` runs, and reads events.

    Args:
        url: the address of the database.
        connections: a pool to read with.
    """

    def __init__(self, url: str, connections: "_Pool") -> None:
        self._address, self.connections = bounded_address(url), connections
        self._waiting: WeakValueDictionary[str, asyncio.Event] = WeakValueDictionary()
        self.is_closed = False

    def close(self) -> None:
        """Let all readers end."""
        self.is_closed = True
        self._wake_all()

    async def has_events(self, run_id: str) -> bool:
        """Return whether any events of a run are stored."""
        return bool(await self.ask(_HAS_EVENTS, run=run_id))

    async def prune(self) -> None:
        """Delete the events of runs that ended before the retention period."""
        async with self.connections.connection() as connection:
            await connection.execute(_PRUNE)

    async def ask(self, query: Any, **arguments: Any) -> list[Any]:
        """Return the rows of a query."""
        async with self.connections.connection() as connection:
            return await (await connection.execute(query, arguments)).fetchall()

    def next_note(self, note: str) -> asyncio.Event:
        """Return what the next notification of a run's events, or of its end, sets.

        Call it before reading: any event that the read misses triggers a notification.
        """
        return self._waiting.setdefault(note, asyncio.Event())

    async def listen(self) -> None:
        """Wake the readers of what workers write; it ends when it is cancelled."""
        while True:
            try:
                name = "crewgraph events of runs"
                connecting = AsyncBoundedConnection.connect(self._address, autocommit=True, application_name=name)
                async with await connecting as connection:
                    await connection.execute(f"LISTEN {_CHANNEL}")
                    self._wake_all()  # for events that came while the connection was down
                    async for notification in connection.notifies():
                        self._wake(notification.payload)
            except psycopg.OperationalError as error:
                _logger.warning("The connection for notifications of events was lost; reconnecting: %s", error)
            await asyncio.sleep(_RECONNECT_DELAY)

    def _wake(self, note: str) -> None:
        for name in {note, note.removesuffix(_END)}:
            if (waiting := self._waiting.pop(name, None)) is not None:
                waiting.set()

    def _wake_all(self) -> None:
        for note in list(self._waiting):
            self._wake(note)


class StoredEvents:
    """The events of a run in Postgres; see `RunEvents`."""

    began = None  # a resumed run adds to them

    def __init__(self, feed: EventFeed, run_id: str) -> None:
        self._feed, self._run_id = feed, run_id
        self.is_over = False
        self.values: Any = None

    async def wait(self) -> None:
        while not self.is_over and not self._feed.is_closed:
            changed = self._feed.next_note(f"{self._run_id}{_END}")
            for row in await self._ask(_OUTCOME):
                self._end(row)
            if not self.is_over and not self._feed.is_closed:
                await _was_notified(changed)

    async def read(self, after: int = 0) -> AsyncIterator[tuple[int, Event] | None]:
        position = after
        while not self._feed.is_closed:
            changed = self._feed.next_note(self._run_id)
            rows = await self._ask(_READ, after=position, limit=_BATCH_SIZE)
            for row in rows:
                if row["event"] is None:
                    self._end(row)
                    return
                position = row["number"]
                yield position, Event(row["event"], row["data"])
            if not rows and not self._feed.is_closed and not await _was_notified(changed):
                yield None

    def _end(self, row: Any) -> None:
        self.is_over, self.values = True, json.loads(row["data"])

    async def _ask(self, query: str, **arguments: Any) -> list[Any]:
        """Query, retrying while the connection is lost."""
        while not self._feed.is_closed:
            try:
                return await self._feed.ask(query, run=self._run_id, **arguments)
            except LOST as error:
                _logger.warning("Events of run %s cannot be read; retrying: %s", self._run_id, error)
                await asyncio.sleep(_RECONNECT_DELAY)
        return []


async def _was_notified(changed: asyncio.Event) -> bool:
    """Wait for a notification; return False on timeout."""
    with suppress(TimeoutError):
        async with asyncio.timeout(HEARTBEAT):
            await changed.wait()
    return changed.is_set()


class WorkerRuns:
    """Executes runs of servers on the event loop of a worker.

    Args:
        saver: the checkpointer.
        connections: a pool for its database, which also holds the records and the events.
    """

    def __init__(self, saver: "BaseCheckpointSaver[Any]", connections: "AsyncConnectionPool[Any]") -> None:
        self._saver, self._connections = saver, connections
        self._records = Records(AsyncPostgresStore(connections))
        self._execution = RunExecution(saver, self._records, is_lost_database)

    async def carry_out(
        self,
        define: Callable[[], Crew | Flow[Any]],
        thread_id: str,
        run_id: str,
        *,
        is_cancelled: Callable[[], bool],
    ) -> None:
        """Execute a run to its end or its next question, resuming after earlier attempts.

        Args:
            define: returns the crew or flow.
            thread_id: the thread of the run.
            run_id: the run.
            is_cancelled: returns, on cancellation, whether the run was cancelled rather than the worker stopped.

        Raises:
            ThreadBusy: another process runs the thread.
            Exception: the database connection was lost.
        """
        try:
            await self._complete(define, thread_id, run_id)
        except asyncio.CancelledError:
            if is_cancelled():
                await self._interrupt(run_id)
            raise

    async def _complete(self, define: Callable[[], Crew | Flow[Any]], thread_id: str, run_id: str) -> None:
        keeper = claim_keeper(self._saver)
        claim = await in_thread(keeper.claim, thread_id)
        try:
            run, events = await self._records.runs.get(run_id), await EventWriter.opened(self._connections, run_id)
            if run is not None:
                graph = served_graph(define(), self._saver)
                if run.is_over:  # an earlier attempt could not report it
                    events.values = await _final_values(graph, run)
                else:
                    try:
                        await self._execution.carry_out(graph, run, events, claim)
                    finally:
                        await events.flush()
        finally:
            claim.close()
        await self._end(run, events)

    async def _interrupt(self, run_id: str) -> None:
        run, events = await self._records.runs.get(run_id), await EventWriter.opened(self._connections, run_id)
        if run is not None and not run.is_over:
            await self._execution.interrupt(run)
        await self._end(run, events)

    async def _end(self, run: RunRecord | None, events: EventWriter) -> None:
        if run is not None:
            # A reader of the end may start the next run, so it is written only after the claim is released.
            await in_thread(claim_keeper(self._saver).holder, run.thread_id)
        await events.end()
        # Last, because another worker reads the values again if this one dies before it has written the end.
        if run is not None:
            await self._execution.forget(run)


async def _final_values(graph: Any, run: RunRecord) -> Any:
    """Return the final values of a run that has ended."""
    if run.error is not None:
        return {"__error__": run.error}
    state = await graph.aget_state({"configurable": {"thread_id": run.thread_id}})
    return plain_json(state.values)
