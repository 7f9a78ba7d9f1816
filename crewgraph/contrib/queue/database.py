"""The Postgres database of a queue: its tables, the engine's connections, and the checkpoints.

The engine's tables have a schema of their own, `crewgraph_queue`, so that a program which uses procrastinate for other work
keeps its jobs apart from these.
"""

import atexit
import time
from contextlib import suppress
from threading import Lock
from typing import Any, cast

import psycopg
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from procrastinate import App, PsycopgConnector, SyncPsycopgConnector
from procrastinate.schema import SchemaManager
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from crewgraph.contrib.serve.postgres import SETUP_LOCK
from crewgraph.errors import StorageError

__all__ = ["QueueDatabase"]

_SCHEMA = "crewgraph_queue"
_HAS_JOBS = "SELECT to_regclass('crewgraph_queue.crewgraph_jobs_thread') IS NOT NULL"
_IS_READY = "SELECT to_regclass('crewgraph_queue.run_events_ended') IS NOT NULL"
_INDEX = "CREATE INDEX IF NOT EXISTS crewgraph_jobs_thread ON procrastinate_jobs ((args->>'thread_id'), id)"
# What `crewgraph.contrib.serve.streams` writes and reads.
_EVENTS = """
CREATE TABLE IF NOT EXISTS run_events (
    run_id text NOT NULL,
    number int NOT NULL,
    event text,
    data text NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run_id, number)
);
CREATE INDEX IF NOT EXISTS run_events_ended ON run_events (made_at) WHERE event IS NULL
"""
_POOL: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
_CONNECTIONS = 4
_PAUSE = 0.1  # seconds between two looks whether somebody else has made the tables
_PATIENCE = 10.0  # seconds to wait for a first connection


class QueueDatabase:
    """The database of a queue, connected when it is first used."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._lock = Lock()
        self._app: App | None = None
        self._saver: PostgresSaver | None = None
        self._is_ready = False

    @property
    def app(self) -> App:
        """The engine for clients, opened; its tables exist.

        Raises:
            StorageError: the database cannot be reached, or the tables cannot be made.
        """
        with self._lock:
            if self._app is None:
                self._prepare()
                app = App(connector=SyncPsycopgConnector(**self._engine_pool()))
                app.open()
                self._app = app
                atexit.register(self.close)
            return self._app

    @property
    def saver(self) -> PostgresSaver:
        """The checkpoints, for clients."""
        with self._lock:
            if self._saver is None:
                self._prepare()
                pool = ConnectionPool(
                    self.url,
                    kwargs=_POOL,
                    min_size=0,
                    max_size=_CONNECTIONS,
                    open=True,
                    check=ConnectionPool.check_connection,
                )
                self._saver = PostgresSaver(cast("Any", pool))
                atexit.register(self.close)
            return self._saver

    def worker_app(self) -> App:
        """Return an engine for a worker, to be opened on its event loop."""
        with self._lock:
            self._prepare()
        return App(connector=PsycopgConnector(**self._engine_pool()))

    def worker_saver(self, concurrency: int) -> tuple[AsyncPostgresSaver, AsyncConnectionPool[Any]]:
        """Return the checkpoints for a worker, and their connections, to be opened on its event loop."""
        pool = self.connections(min(concurrency, _CONNECTIONS) + 1)
        return AsyncPostgresSaver(pool), pool

    def connections(self, most: int = _CONNECTIONS) -> AsyncConnectionPool[Any]:
        """Return connections, to be opened on the event loop that uses them; the tables exist."""
        with self._lock:
            self._prepare()
        return AsyncConnectionPool(
            self.url, kwargs=_POOL, min_size=1, max_size=most, open=False, check=AsyncConnectionPool.check_connection
        )

    def close(self) -> None:
        """Close the connections. Another use opens them again."""
        with self._lock:
            app, saver, self._app, self._saver = self._app, self._saver, None, None
        atexit.unregister(self.close)
        if app is not None:
            app.close()
        if saver is not None:
            cast("ConnectionPool[Any]", saver.conn).close()

    def _engine_pool(self) -> dict[str, Any]:
        return {"conninfo": self._engine_url(), "min_size": 0, "max_size": _CONNECTIONS}

    def _engine_url(self) -> str:
        options = conninfo_to_dict(self.url).get("options")
        return make_conninfo(self.url, options=f"{options or ''} -c search_path={_SCHEMA}".strip())

    def _prepare(self) -> None:
        """Make the tables that are missing; several processes may try at the same time."""
        if self._is_ready:
            return
        try:
            with psycopg.connect(self.url, autocommit=True, connect_timeout=int(_PATIENCE)) as connection:
                if connection.execute(_IS_READY).fetchone() != (True,):
                    self._create(connection)
        except psycopg.Error as error:
            why = " ".join(str(error).split())
            raise StorageError(
                f"the database of the queue cannot be used: {why} Check its address, and that its user may create tables; or let "
                "somebody who may run `crewgraph worker` once."
            ) from error
        self._is_ready = True

    def _create(self, connection: "psycopg.Connection[Any]") -> None:
        # The lock ends with the connection. Nobody waits for it in a statement: LangGraph makes its indexes concurrently, which
        # waits for the statements of all others.
        while connection.execute("SELECT pg_try_advisory_lock(%s)", (SETUP_LOCK,)).fetchone() != (True,):
            time.sleep(_PAUSE)
        if connection.execute(_IS_READY).fetchone() == (True,):
            return
        if connection.execute(_HAS_JOBS).fetchone() != (True,):
            self._create_jobs(connection)
        with connection.transaction():
            connection.execute(f"SET LOCAL search_path = {_SCHEMA}")
            connection.execute(_EVENTS)

    def _create_jobs(self, connection: "psycopg.Connection[Any]") -> None:
        with psycopg.connect(self.url, **_POOL) as checkpoints:
            PostgresSaver(cast("Any", checkpoints)).setup()
        with suppress(psycopg.errors.DuplicateSchema):
            connection.execute(f"CREATE SCHEMA {_SCHEMA}")
        with connection.transaction():
            connection.execute(f"SET LOCAL search_path = {_SCHEMA}")
            connection.execute(SchemaManager.get_schema())
            connection.execute(_INDEX)
