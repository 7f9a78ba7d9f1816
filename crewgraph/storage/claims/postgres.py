"""Claims on the threads of a Postgres database: advisory locks of one connection of this process, and a token for each claim.

PostgreSQL releases the locks of a connection with the connection, so a killed process holds none. A live process can lose its
connection, too: the server restarts, or the network fails. Then another process may claim the thread, with a greater token. So
each statement with which a run stores something reads the token, too (`OnPostgres`), and fails if it is not the run's. Before an
effect, a claim that was last checked more than a second ago is verified (`is_doubtful`): the run continues if the token is still
its own, and fails otherwise. A lock that was lost is taken again.
"""

import _thread
import asyncio
import atexit
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from hashlib import blake2b
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.rows import TupleRow
from psycopg.sql import SQL, Literal

from crewgraph.core.claims import Holder
from crewgraph.core.loops.bridge import in_thread
from crewgraph.core.loops.threads import ThreadPool
from crewgraph.errors import StorageError
from crewgraph.formats import FORMAT, check_format
from crewgraph.redaction import redacted_logger
from crewgraph.storage.claims.process import ProcessClaim, ProcessClaims, busy, process_name
from crewgraph.storage.postgres import (
    BoundedConnection,
    bounded_address,
    check_session,
    is_lost,
    on_each_tick,
    without_ticks,
)

_P = ParamSpec("_P")
_T = TypeVar("_T")
_Connection = psycopg.Connection[TupleRow]
_logger = redacted_logger(__name__)

_SCHEMA = """
SELECT relnamespace::regnamespace::text, obj_description(oid, 'pg_class')
FROM pg_class WHERE oid = to_regclass('crewgraph_claims')
"""
_TABLE = """
CREATE TABLE IF NOT EXISTS crewgraph_claims (
    thread_id TEXT PRIMARY KEY,
    token BIGSERIAL,
    holder TEXT NOT NULL,
    since TIMESTAMPTZ NOT NULL DEFAULT now()
)
"""
_MARK = SQL("COMMENT ON TABLE crewgraph_claims IS {}").format(Literal(str(FORMAT)))
_LOCK = "SELECT pg_try_advisory_lock(%s)"
_UNLOCK = "SELECT pg_advisory_unlock(%s)"
_NOTE = """
INSERT INTO crewgraph_claims (thread_id, holder) VALUES (%s, %s)
ON CONFLICT (thread_id) DO UPDATE SET token = EXCLUDED.token, holder = EXCLUDED.holder, since = now()
RETURNING token
"""
_FORGET = "DELETE FROM crewgraph_claims WHERE thread_id = %s AND token = %s"
_TOKEN = "SELECT token FROM crewgraph_claims WHERE thread_id = %s"
# Fails with a division by zero if there is no such claim. The lock on the row lets others claim the thread only after the commit.
_FENCE = "SELECT 1 / count(*) FROM (SELECT 1 FROM {}.crewgraph_claims WHERE thread_id = {} AND token = {} FOR SHARE) AS claim"
_HOLDER = "SELECT holder, extract(epoch FROM since) FROM crewgraph_claims WHERE thread_id = %s"
_IS_LOCKED = """
SELECT 1 FROM pg_locks
WHERE locktype = 'advisory' AND granted AND objsubid = 1
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
AND classid = %s::bigint::oid AND objid = %s::bigint::oid
"""
# A crashed machine cannot close its connection: the server probes after ten silent seconds, and closes it after about ten more.
# What the server's administrator or the user's role has set for idle sessions and statements is meant for others.
_SETTINGS = """
SELECT set_config(name, value, false) FROM pg_settings JOIN (VALUES
    ('tcp_keepalives_idle', '10'), ('tcp_keepalives_interval', '3'), ('tcp_keepalives_count', '3'),
    ('idle_session_timeout', '0'), ('idle_in_transaction_session_timeout', '0'), ('transaction_timeout', '0'),
    ('statement_timeout', '20s'), ('lock_timeout', '0')
) AS own (name, value) USING (name)
"""
_PING_INTERVAL = 10  # seconds, in which a connection without statements is used; firewalls forget those that are silent


class PostgresClaim(ProcessClaim):
    """A claim of this process on a thread of a Postgres database.

    Args:
        claims: the claims on the database.
        thread_id: the thread.
        holder: the holder.
        token: the token of the claim.
        schema: the schema of the table of claims; empty if there is none.
    """

    verify_interval = 1.0

    def __init__(
        self, claims: "PostgresClaims", thread_id: str, holder: Holder, token: int, schema: str | None
    ) -> None:
        super().__init__(claims, thread_id, holder)
        self.claims: PostgresClaims = claims
        self._token = token
        self.is_fenced = bool(schema)
        self.fence = schema and _FENCE.format(schema, Literal(thread_id).as_string(), token)
        """A query that fails if the claim is lost; empty without a table of claims."""

    def verify(self) -> None:
        """Verify that it is still held.

        Raises:
            ThreadBusy: another process has claimed the thread, or this one was forked from the one that has.
            StorageError: the server cannot be reached.
        """
        self.check_process()
        started = time.monotonic()
        self.claims.verify(self.thread_id, self._token)
        self.checked_at = started

    async def averify(self) -> None:
        """Async version of `verify`."""
        await in_thread(self.verify)


class PostgresClaims(ProcessClaims):
    """The claims of this process on the threads of one database.

    A dedicated thread executes all statements, in order of submission. Each of them ends in time, so that neither who asks nor
    the end of the process waits for long.
    """

    def __init__(self, conninfo: str) -> None:
        super().__init__()
        self._conninfo = conninfo
        self._worker = ThreadPool(1, "crewgraph-claims")
        self._turn = threading.Lock()
        self._connection: psycopg.Connection[TupleRow] | None = None
        self._inherited: list[object] = []
        self._failure = (0.0, "")
        """When the database could last not be reached, and why."""
        self._silent_ticks = 0
        self._schema: str | None = None
        """The schema of the table of claims, quoted; None if there is no such table."""
        self._locked: set[str] = set()
        """The threads that the connection has locked."""
        self._tokens: dict[str, int] = {}
        """The tokens of the claims of this process."""
        atexit.register(self._disconnect)

    def claim_nowait(self, thread_id: str) -> None:
        """Return None: claiming waits for the server."""

    def drop(self, thread_id: str, holder: Holder) -> None:
        """Release a claim from wherever the garbage collector runs, perhaps inside of the pool's own lock."""
        with suppress(RuntimeError):  # the interpreter ends, and the connection with it
            _thread.start_new_thread(self._release_dropped, (thread_id, holder))

    def _release_dropped(self, thread_id: str, holder: Holder) -> None:
        with suppress(RuntimeError):
            self.release(thread_id, holder)

    def verify(self, thread_id: str, token: int) -> None:
        """Verify a claim; see `PostgresClaim.verify`."""
        if (other := self._ask(self._lost, thread_id, token)) is not None:
            raise busy(thread_id, other)

    def holder(self, thread_id: str) -> Holder | None:
        """Return the current holder of a thread."""
        return super().holder(thread_id) or self._ask(self._locked_by, thread_id)

    def forked(self) -> None:
        """Discard the parent's claims in a forked child, which must neither use nor close the parent's connection."""
        super().forked()
        self._inherited += [self._worker, self._connection]
        self._worker, self._connection = ThreadPool(1, "crewgraph-claims"), None
        self._failure = (0.0, "")
        self._turn = threading.Lock()
        self._locked, self._tokens = set(), {}

    def release(self, thread_id: str, holder: Holder) -> "Future[None] | None":
        """Release a claim, if it is still held; on a thread without an event loop, wait until it is released."""
        released = super().release(thread_id, holder)
        if released is None:
            return None
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            error = released.exception()
            if error is not None:  # the lock is released with the connection
                _logger.warning("The claim on thread `%s` could not be released: %s", thread_id, error)
        return released

    def _take(self, thread_id: str, holder: Holder) -> ProcessClaim | Holder:
        try:
            claimed = self._ask(self._lock_thread, thread_id)
        except BaseException:  # perhaps Ctrl-C: the thread may be locked all the same, and nobody would unlock it
            self._give_back(thread_id)
            raise
        if isinstance(claimed, Holder):
            return claimed
        return PostgresClaim(self, thread_id, holder, claimed, self._schema)

    def _give_back(self, thread_id: str) -> "Future[None]":
        return self._worker.submit(self._unlock_thread, thread_id)

    def _ask(self, work: "Callable[Concatenate[_Connection, _P], _T]", *args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return self._submit(work, *args, **kwargs).result()
        except psycopg.Error as error:
            raise StorageError(
                f"the Postgres database with the claims on threads cannot be queried: {error}"
            ) from error

    def _submit(
        self, work: "Callable[Concatenate[_Connection, _P], _T]", *args: _P.args, **kwargs: _P.kwargs
    ) -> "Future[_T]":
        return self._worker.submit(self._on_connection, time.monotonic(), work, *args, **kwargs)

    def _on_connection(
        self, asked: float, work: "Callable[Concatenate[_Connection, _P], _T]", *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        """Do some work on the connection; if it is lost, reconnect and retry.

        What was asked for before the database could not be reached fails, too, instead of waiting for it in its turn.
        """
        with self._turn:  # after a Ctrl-C, earlier work may still be running on another thread
            self._silent_ticks = 0
            if self._connection is not None:
                try:
                    return work(self._connection, *args, **kwargs)
                except psycopg.OperationalError as error:
                    if not is_lost(error):
                        raise
                    _logger.warning("The connection that holds the claims on threads is lost; reconnecting: %s", error)
                    self._forget_connection()
            failed, why = self._failure
            if asked < failed:
                raise psycopg.OperationalError(why)
            try:
                return work(self._connect(), *args, **kwargs)
            except psycopg.OperationalError as error:
                if is_lost(error):
                    self._forget_connection()
                    self._failure = (time.monotonic(), str(error))
                raise

    def _connect(self) -> "_Connection":
        name = f"crewgraph claims of {process_name()}"[:63]
        address = bounded_address(self._conninfo)
        connection = BoundedConnection.connect(address, autocommit=True, application_name=name)
        try:
            check_session(connection, address)
            connection.execute(_SETTINGS)
            self._schema = self._read_schema(connection)
            self._locked = set()
            for thread_id in self._tokens:  # lock those of the old connection, unless another process was faster
                self._lock_key(connection, thread_id)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def _read_schema(self, connection: "_Connection") -> str | None:
        row = connection.execute(_SCHEMA).fetchone()
        if row is None:
            with (
                suppress(
                    psycopg.errors.InsufficientPrivilege,
                    psycopg.errors.DuplicateTable,  # another process has just created it, which IF NOT EXISTS does not see
                    psycopg.errors.DuplicateObject,
                    psycopg.errors.UniqueViolation,
                ),
                connection.transaction(),
            ):
                connection.execute(_TABLE)
                connection.execute(_MARK)
            row = connection.execute(_SCHEMA).fetchone()
        if row is None:
            return None
        check_format(row[1], "The table `crewgraph_claims`", "Drop the table if no process of that version runs.")
        return str(row[0])

    def _forget_connection(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection, self._locked = None, set()

    def _tick(self) -> None:
        if not self._tokens:
            without_ticks(self._tick)
            return
        self._silent_ticks += 1
        if self._silent_ticks % _PING_INTERVAL == 0:
            with suppress(RuntimeError):  # the interpreter ends
                self._submit(self._ping)

    def _ping(self, connection: "_Connection") -> None:
        """Keep the connection in use; if it is lost, the threads are locked again before anybody else claims them."""
        connection.execute("SELECT 1")
        for thread_id in self._tokens.keys() - self._locked:
            self._lock_key(connection, thread_id)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _lock_thread(self, connection: "_Connection", thread_id: str) -> int | Holder:
        """Lock a thread; return the token of the claim, or the holder."""
        if not self._lock_key(connection, thread_id):
            return self._read_holder(connection, thread_id)
        token = 0
        if self._schema:
            row = connection.execute(_NOTE, (thread_id, process_name())).fetchone()
            assert row is not None
            token = row[0]
        self._tokens[thread_id] = token
        on_each_tick(self._tick)
        return token

    def _lock_key(self, connection: "_Connection", thread_id: str) -> bool:
        if thread_id not in self._locked and connection.execute(_LOCK, (_lock_number(thread_id),)).fetchone() == (
            True,
        ):
            self._locked.add(thread_id)
        return thread_id in self._locked

    def _unlock_thread(self, thread_id: str) -> None:
        """Unlock a thread, unless the lock is gone with the connection."""
        with self._turn:
            token, connection = self._tokens.pop(thread_id, None), self._connection
            if connection is None:
                return
            try:
                if self._schema:
                    connection.execute(_FORGET, (thread_id, token))
                if thread_id in self._locked:
                    self._locked.discard(thread_id)
                    connection.execute(_UNLOCK, (_lock_number(thread_id),))
            except psycopg.OperationalError as error:
                if is_lost(error):
                    self._forget_connection()
                raise

    def _lost(self, connection: "_Connection", thread_id: str, token: int) -> Holder | None:
        """Return the holder that has replaced this process; None if it still holds the claim."""
        is_locked = self._lock_key(
            connection, thread_id
        )  # perhaps not yet, by a session of ours that the server takes for alive
        if connection.execute(_TOKEN, (thread_id,)).fetchone() == (token,) if self._schema else is_locked:
            return None
        return self._read_holder(connection, thread_id)

    def _locked_by(self, connection: "_Connection", thread_id: str) -> Holder | None:
        key = _lock_number(thread_id) & (1 << 64) - 1
        if connection.execute(_IS_LOCKED, (key >> 32, key & 0xFFFFFFFF)).fetchone() is None:
            return None
        return self._read_holder(connection, thread_id)

    def _read_holder(self, connection: "_Connection", thread_id: str) -> Holder:
        row = connection.execute(_HOLDER, (thread_id,)).fetchone() if self._schema else None
        return Holder("another process", None) if row is None else Holder(str(row[0]), float(row[1]))


def _lock_number(thread_id: str) -> int:
    digest = blake2b(b"crewgraph" + thread_id.encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


_known: dict[str, PostgresClaims] = {}
_lock = threading.Lock()


def postgres_claims(connection: Any) -> PostgresClaims:
    """The claims on the threads of a database; the same object for the same database.

    Args:
        connection: a connection or pool of psycopg, sync or async.
    """
    conninfo = conninfo_of(connection)
    with _lock:
        if conninfo not in _known:
            _known[conninfo] = PostgresClaims(conninfo)
        return _known[conninfo]


def conninfo_of(connection: Any) -> str:
    """Return the address of the database of a connection or pool of psycopg, sync or async."""
    if isinstance(connection, (psycopg.Connection, psycopg.AsyncConnection)):
        info = cast("psycopg.Connection[TupleRow]", connection).info
        return make_conninfo("", **{**info.get_parameters(), "password": info.password or None})
    options: dict[str, Any] = _value_of(connection.kwargs) or {}
    return make_conninfo(
        _value_of(connection.conninfo), **{name: value for name, value in options.items() if name in _PARAMETERS}
    )


def _value_of(value: Any) -> Any:
    return value() if callable(value) else value


_PARAMETERS = {"host", "port", "dbname", "user", "password", "sslmode", "sslcert", "sslkey", "sslrootcert", "options"}
