"""A Postgres database for the checkpoints and the records of a server."""

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.store.base import BaseStore
from langgraph.store.postgres import PostgresStore
from langgraph.store.postgres.aio import AsyncPostgresStore
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from crewgraph.core.loops.bridge import in_thread
from crewgraph.errors import StorageError
from crewgraph.storage.postgres import (
    CONNECT_TIMEOUT,
    AsyncBoundedConnection,
    BoundedConnection,
    bounded_address,
    check_session,
)

CONNECTION: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
"""The options of connections."""

_CONNECTIONS = 10
_CONNECT_INTERVAL = 0.5  # seconds between attempts; while the database starts
_SETUP_POLL_INTERVAL = 0.1  # seconds; while another process creates the tables
_SETUP_LOCK = 5_203_811_640_113_000_377  # for creating tables: an arbitrary number that no other program locks

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
    try:
        await in_thread(_create_tables, address)
    except psycopg.Error as error:
        raise StorageError(
            f"the database cannot be used: {refusal_of(error)}. Check its address and its user's permissions."
        ) from error
    async with async_pool(address, _CONNECTIONS) as pool:
        yield _Checkpoints(pool), AsyncPostgresStore(pool)


def _create_tables(address: str) -> None:
    with _connected(address) as connection:
        check_session(connection, address)
        wait_for_turn(connection)
        PostgresSaver(connection).setup()
        PostgresStore(connection).setup()


def _connected(address: str) -> BoundedConnection:
    """Return a connection to a database that may have been started together with this server."""
    # It prepares no statement: a pooler in transaction mode, which `check_session` finds, would have it under the same name.
    options: dict[str, Any] = {**CONNECTION, "prepare_threshold": None}
    deadline = time.monotonic() + CONNECT_TIMEOUT
    while True:
        try:
            return BoundedConnection.connect(address, **options)
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
        time.sleep(_CONNECT_INTERVAL)


def async_pool(address: str, most: int, timeout: float = 30.0) -> AsyncConnectionPool[Any]:
    """Return a pool, to be opened on the event loop that uses it.

    Args:
        address: the address of the database.
        most: maximum number of connections.
        timeout: seconds to wait for one.
    """
    return AsyncConnectionPool(
        address,
        connection_class=AsyncBoundedConnection,
        kwargs=CONNECTION,
        timeout=timeout,
        min_size=1,
        max_size=most,
        open=False,
        check=AsyncConnectionPool.check_connection,
    )


def wait_for_turn(connection: "psycopg.Connection[Any]") -> None:
    """Wait until no other process creates tables; while the connection is open, no other one does."""
    # The lock is polled, because LangGraph creates its indexes concurrently, which waits for all running statements, a blocked
    # lock statement among them.
    while connection.execute("SELECT 1 WHERE pg_try_advisory_lock(%s)", (_SETUP_LOCK,)).fetchone() is None:
        time.sleep(_SETUP_POLL_INTERVAL)


def refusal_of(error: BaseException) -> str:
    """Return what Postgres says, on one line and without the details, which quote statements and their values."""
    primary = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    return " ".join((primary or str(error)).split()).rstrip(".")
