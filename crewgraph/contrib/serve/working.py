"""Runs of a server in a worker, which executes them and writes their events for the server to read."""

import asyncio
from collections.abc import Callable
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.postgres.aio import AsyncPostgresStore
from psycopg_pool import AsyncConnectionPool

from crewgraph.contrib.queue.work import is_lost_database
from crewgraph.contrib.serve.execution import RunExecution
from crewgraph.contrib.serve.records import Records, RunRecord
from crewgraph.contrib.serve.streams import EventWriter
from crewgraph.contrib.serve.wire import plain_json
from crewgraph.core.loops.bridge import in_thread
from crewgraph.crew import Crew
from crewgraph.flow.flow import Flow
from crewgraph.storage.claims.keepers import claim_keeper

__all__ = ["WorkerRuns"]


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
                graph = define().compile(checkpointer=self._saver)
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
