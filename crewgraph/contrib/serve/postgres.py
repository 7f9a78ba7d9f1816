"""A Postgres database for the checkpoints and the records of a server."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.store.base import BaseStore
from langgraph.store.postgres.aio import AsyncPostgresStore
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from crewgraph.core.loops.bridge import in_thread
from crewgraph.errors import StorageError
from crewgraph.storage.postgres import (
    CONNECT_TIMEOUT,
    AsyncBoundedConnection,
    BoundedConnection,
    bounded_address,
    check_session,
)

_CONNECTION: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
_CONNECTIONS = 10
_SETUP_POLL_INTERVAL = 0.1  # seconds; while another process creates the tables

SETUP_LOCK = 5_203_811_640_113_000_377
"""The advisory lock for creating tables: an arbitrary number that no other program locks."""


_RUNS = """
thread_id IN (SELECT value->>'thread_id' FROM store WHERE prefix = 'crewgraph.runs' AND key = ANY(%(runs)s))
AND metadata->>'run_id' = ANY(%(runs)s)
"""
_DELETE_RUNS = f"""
WITH deleted AS (DELETE FROM checkpoints WHERE {_RUNS} RETURNING thread_id, checkpoint_ns, checkpoint_id)
DELETE FROM checkpoint_writes USING deleted
WHERE checkpoint_writes.thread_id = deleted.thread_id AND checkpoint_writes.checkpoint_ns = deleted.checkpoint_ns
AND checkpoint_writes.checkpoint_id = deleted.checkpoint_id
"""
_COPIED = {
    "checkpoint_blobs": "checkpoint_ns, channel, version, type, blob",
    "checkpoint_writes": "checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob, task_path",
    "checkpoints": "checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata",
}
"""The columns of each table except the thread. `checkpoints` is last, because it makes the others visible."""


class _Checkpoints(AsyncPostgresSaver):
    """Checkpoints of LangGraph in Postgres that can be copied and rolled back."""

    def __init__(self, pool: "AsyncConnectionPool[Any]") -> None:
        super().__init__(pool)
        self._pool = pool

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread with all its checkpoints and writes."""
        threads = {"source": source_thread_id, "target": target_thread_id}
        async with self._pool.connection() as connection, connection.transaction():
            for table, columns in _COPIED.items():
                chosen = f"SELECT %(target)s, {columns} FROM {table} WHERE thread_id = %(source)s"
                await connection.execute(f"INSERT INTO {table} (thread_id, {columns}) {chosen}", threads)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints that these runs created. The records of the runs must still exist."""
        async with self._pool.connection() as connection:
            await connection.execute(_DELETE_RUNS, {"runs": list(run_ids)})


def checked_address(url: str) -> str:
    """Return the address of a database if it has libpq's form.

    libpq quotes what it cannot read, which may be a password.

    Raises:
        StorageError: it has another form; the text does not quote it.
    """
    try:
        ports = str(conninfo_to_dict(url).get("port") or "")
    except psycopg.Error:
        ports = "?"
    if ports and not all(port.isdigit() for port in ports.split(",")):
        raise StorageError(
            "the address of the database cannot be read (it is not shown, as it may hold a password). It must have the form "
            "`postgresql://user:password@host:port/database`; in the password, write `%40` for `@`, `%2F` for `/`, `%3A` for `:`."
        )
    return url


@asynccontextmanager
async def opened_postgres(url: str) -> AsyncGenerator[tuple[AsyncPostgresSaver, BaseStore]]:
    """Open a Postgres database for checkpoints and records.

    Args:
        url: its address, in libpq's form.

    Raises:
        StorageError: it cannot be reached, or its tables cannot be created.
    """
    address = bounded_address(checked_address(url))
    pool: AsyncConnectionPool[Any] = AsyncConnectionPool(
        address,
        connection_class=AsyncBoundedConnection,
        kwargs=_CONNECTION,
        min_size=1,
        max_size=_CONNECTIONS,
        open=False,
        check=AsyncConnectionPool.check_connection,
    )
    try:
        await pool.open(wait=True, timeout=CONNECT_TIMEOUT)
        await in_thread(_check_session, address)
        saver, store = _Checkpoints(pool), AsyncPostgresStore(pool)
        async with pool.connection() as connection:  # servers that start at once take turns creating tables
            # The lock is polled, because LangGraph creates its indexes concurrently, which waits for all running statements, a
            # blocked lock statement among them.
            while not await _has_locked(connection):
                await asyncio.sleep(_SETUP_POLL_INTERVAL)
            try:
                await saver.setup()
                await store.setup()
            finally:
                await connection.execute(f"SELECT pg_advisory_unlock({SETUP_LOCK})")
    except StorageError:
        await pool.close()
        raise
    except (psycopg.Error, PoolTimeout) as error:
        await pool.close()
        why = " ".join(str(error).split()).rstrip(".")
        raise StorageError(
            f"the database cannot be used: {why}. Check its address and its user's permissions."
        ) from error
    async with pool:
        yield saver, store


def _check_session(address: str) -> None:
    with BoundedConnection.connect(address, autocommit=True) as connection:
        check_session(connection, address)


async def _has_locked(connection: Any) -> bool:
    row = await (await connection.execute(f"SELECT pg_try_advisory_lock({SETUP_LOCK}) AS locked")).fetchone()
    return row["locked"]
