"""The Postgres database of a queue: its tables, the engine's connections, and the checkpoints.

The engine's tables have their own schema, `crewgraph_queue`, so that they do not mix with the jobs of a program that also uses
procrastinate directly.
"""

import atexit
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import Any, cast

import psycopg
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from procrastinate import App, PsycopgConnector, SyncPsycopgConnector
from procrastinate.schema import SchemaManager
from psycopg.sql import SQL, Literal
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from crewgraph.contrib.serve.postgres import CONNECTION, async_pool, checked_address, refusal_of, wait_for_turn
from crewgraph.errors import StorageError
from crewgraph.formats import FORMAT, check_format
from crewgraph.storage.postgres import (
    CONNECT_TIMEOUT,
    AsyncBoundedConnection,
    BoundedConnection,
    bounded_address,
    check_session,
)

_SCHEMA = "crewgraph_queue"
# A statement, not an option of the address: poolers refuse options.
_ENTER = f"SET search_path = {_SCHEMA}"
_FORMAT = "SELECT obj_description(oid, 'pg_class') FROM pg_class WHERE oid = to_regclass('crewgraph_queue.run_events')"
# The second is for the engine's search for earlier jobs with the same lock, which otherwise reads all jobs for each one.
_INDEXES = """
CREATE INDEX crewgraph_jobs_thread ON procrastinate_jobs ((args->>'thread_id'), id);
CREATE INDEX crewgraph_jobs_lock ON procrastinate_jobs (lock) WHERE status IN ('todo', 'doing')
"""
# What `crewgraph.contrib.serve.streams` writes and reads.
_EVENTS = """
CREATE TABLE run_events (
    run_id text NOT NULL,
    number int NOT NULL,
    event text,
    data text NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run_id, number)
);
CREATE INDEX run_events_ended ON run_events (made_at) WHERE event IS NULL
"""
_MARK = SQL("COMMENT ON TABLE run_events IS {}").format(Literal(str(FORMAT)))
_CONNECTIONS = 4


class QueueDatabase:
    """The database of a queue; connects on first use."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._address = ""
        self._lock = Lock()
        self._app: App | None = None
        self._saver: PostgresSaver | None = None
        self._is_ready = False

    @property
    def app(self) -> App:
        """The engine for clients, opened, with its tables created.

        Raises:
            StorageError: the database cannot be reached, or the tables cannot be created.
        """
        with self._lock:
            if self._app is None:
                self._prepare()
                app = App(
                    connector=SyncPsycopgConnector(**_engine_pool(self._address, BoundedConnection, _enter_schema))
                )
                app.open()
                self._app = app
                atexit.register(self.close)
            return self._app

    @property
    def saver(self) -> PostgresSaver:
        """The checkpointer for clients."""
        with self._lock:
            if self._saver is None:
                self._prepare()
                pool: Any = ConnectionPool(
                    self._address,
                    connection_class=BoundedConnection,
                    kwargs=CONNECTION,
                    timeout=CONNECT_TIMEOUT,
                    min_size=0,
                    max_size=_CONNECTIONS,
                    open=True,
                    check=ConnectionPool.check_connection,
                )
                self._saver = PostgresSaver(pool)
                atexit.register(self.close)
            return self._saver

    def worker_app(self) -> App:
        """Return an engine for a worker, to be opened on the worker's event loop."""
        with self._lock:
            self._prepare()
        return App(connector=PsycopgConnector(**_engine_pool(self._address, AsyncBoundedConnection, _aenter_schema)))

    def worker_saver(self, concurrency: int) -> tuple[AsyncPostgresSaver, AsyncConnectionPool[Any]]:
        """Return the checkpointer of a worker and its pool, to be opened on the worker's event loop."""
        pool = self.connections(min(concurrency, _CONNECTIONS) + 1)
        return AsyncPostgresSaver(pool), pool

    def connections(self, most: int = _CONNECTIONS) -> AsyncConnectionPool[Any]:
        """Return a pool, to be opened on the event loop that uses it, with the tables created."""
        with self._lock:
            self._prepare()
        return async_pool(self._address, most, CONNECT_TIMEOUT)

    def close(self) -> None:
        """Close the connections. The next use reopens them."""
        with self._lock:
            app, saver, self._app, self._saver = self._app, self._saver, None, None
        atexit.unregister(self.close)
        if app is not None:
            app.close()
        if saver is not None:
            cast("ConnectionPool[Any]", saver.conn).close()

    def _prepare(self) -> None:
        """Create missing tables; several processes may try at the same time."""
        if self._is_ready:
            return
        self._address = bounded_address(checked_address(self.url))
        try:
            with BoundedConnection.connect(self._address, autocommit=True) as connection:
                check_session(connection, self._address)
                if not _has_tables(connection):
                    self._create(connection)
        except psycopg.Error as error:
            raise StorageError(
                f"the database of the queue cannot be used: {refusal_of(error)}. Check its address, and that its "
                "user may create tables; or run `crewgraph worker` once as a user who may."
            ) from error
        self._is_ready = True

    def _create(self, connection: "psycopg.Connection[Any]") -> None:
        wait_for_turn(connection)
        if _has_tables(connection):
            return
        checkpoints: Any = psycopg.connect(self._address, **CONNECTION)
        with checkpoints:
            PostgresSaver(checkpoints).setup()
        with suppress(psycopg.errors.DuplicateSchema):
            connection.execute(f"CREATE SCHEMA {_SCHEMA}")
        with connection.transaction():
            connection.execute(f"SET LOCAL search_path = {_SCHEMA}")
            connection.execute(SchemaManager.get_schema())
            connection.execute(_INDEXES)
            connection.execute(_EVENTS)
            connection.execute(_MARK)


def _has_tables(connection: "psycopg.Connection[Any]") -> bool:
    """Whether the tables exist; raises `OtherFormat` if they have another format."""
    row = connection.execute(_FORMAT).fetchone()
    if row is not None:
        check_format(row[0], f"The schema `{_SCHEMA}`", "Finish its jobs with that version, then drop the schema.")
    return row is not None


def _engine_pool(address: str, connection_class: type[Any], enter_schema: Callable[[Any], Any]) -> dict[str, Any]:
    return {
        "conninfo": address,
        "connection_class": connection_class,
        "configure": enter_schema,
        "timeout": CONNECT_TIMEOUT,
        "min_size": 0,
        "max_size": _CONNECTIONS,
    }


def _enter_schema(connection: "psycopg.Connection[Any]") -> None:
    connection.execute(_ENTER)
    connection.commit()


async def _aenter_schema(connection: "psycopg.AsyncConnection[Any]") -> None:
    await connection.execute(_ENTER)
    await connection.commit()
