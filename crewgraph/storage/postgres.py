"""Connections to PostgreSQL on which nothing waits for ever, and which have a session of the server to themselves.

A frozen network acknowledges what is sent, so that neither keepalives nor TCP's own timeouts notice it. So each wait for an
answer has a deadline, at which the connection is shut: whoever waits is told that it is lost.
"""

import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.errors import PipelineAborted
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row
from psycopg_pool import PoolClosed, PoolTimeout

from crewgraph.errors import StorageError

CONNECT_TIMEOUT = 10
"""Seconds to wait for a connection."""

_PARAMETERS = {
    "connect_timeout": CONNECT_TIMEOUT,
    "keepalives_idle": 10,  # seconds
    "keepalives_interval": 3,  # seconds
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,  # milliseconds
}
_BACKEND = "SELECT pg_backend_pid()"
_ROUNDS = 10
_IS_SHARED = (
    "the database is reached through a pooler that lends its connections to many clients in turn, such as PgBouncer with "
    "`pool_mode = transaction`. Claims on threads and the queue need a session of their own: give them the address of the "
    "server itself, or one of the pooler with `pool_mode = session`."
)


class _Clock:
    """Calls functions once a second, on a thread of its own. It stands still while the process does."""

    def __init__(self) -> None:
        self.renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.renew)

    def renew(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._has_some = threading.Event()
        self._functions: set[Callable[[], None]] = set()

    def add(self, function: Callable[[], None]) -> None:
        self._functions.add(function)
        self._has_some.set()
        if self._thread is None:
            with self._lock:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="crewgraph-postgres-clock", daemon=True)
                    self._thread.start()

    def discard(self, function: Callable[[], None]) -> None:
        self._functions.discard(function)

    def _run(self) -> None:
        while True:
            self._has_some.wait()
            time.sleep(1)
            self._has_some.clear()
            if functions := self._functions.copy():
                self._has_some.set()
            for function in functions:
                function()


_clock = _Clock()
on_each_tick = _clock.add
"""Call a function once a second."""

without_ticks = _clock.discard
"""Call it no more."""


class Deadline:
    """Shuts a connection if a block waits longer for it than some seconds.

    Args:
        seconds: the seconds, in which the process runs.
        connection: the connection; may be set later.
        while_idle: whether the time counts in which the connection executes nothing.

    Raises:
        psycopg.OperationalError: at the end of the block, in place of the error of the connection that was shut.
    """

    def __init__(
        self,
        seconds: float,
        connection: "psycopg.Connection[Any] | psycopg.AsyncConnection[Any] | None" = None,
        *,
        while_idle: bool = True,
    ) -> None:
        self.connection = connection
        self._seconds, self._left, self._while_idle = seconds, seconds, while_idle

    @property
    def is_over(self) -> bool:
        """Whether the connection was shut."""
        return self._left < 0

    def __enter__(self) -> Self:
        on_each_tick(self._tick)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        without_ticks(self._tick)
        if self.is_over and isinstance(error, psycopg.OperationalError):
            raise psycopg.OperationalError(f"the server did not answer within {self._seconds:g} seconds") from error

    def _tick(self) -> None:
        connection = self.connection
        if connection is None or (
            not self._while_idle and connection.info.transaction_status != TransactionStatus.ACTIVE
        ):
            return
        self._left -= 1
        if self.is_over:
            with suppress(OSError, psycopg.OperationalError):  # it is closed already
                own = socket.socket(fileno=connection.fileno())
                try:
                    own.shutdown(socket.SHUT_RDWR)
                finally:
                    own.detach()


class BoundedConnection(psycopg.Connection[Any]):
    """A connection each of whose statements is answered in time, or fails."""

    answer_timeout = 20
    """Seconds to wait for the answer to a statement."""

    def wait(self, *args: Any, **options: Any) -> Any:
        """See psycopg."""
        with Deadline(self.answer_timeout, self, while_idle=False):
            return super().wait(*args, **options)


class AsyncBoundedConnection(psycopg.AsyncConnection[Any]):
    """Async version of `BoundedConnection`."""

    async def wait(self, *args: Any, **options: Any) -> Any:
        """See psycopg."""
        with Deadline(BoundedConnection.answer_timeout, self, while_idle=False):
            return await super().wait(*args, **options)


def bounded_address(address: str) -> str:
    """Return the address of a database with bounds on the waits that TCP knows of, where it sets none itself."""
    given = conninfo_to_dict(address)
    return make_conninfo(address, **{name: value for name, value in _PARAMETERS.items() if name not in given})


def check_session(connection: "psycopg.Connection[Any]", address: str) -> None:
    """Check that a connection with autocommit has a session of the server to itself.

    Every pooler tells another number at the start than the server itself. One that lends a connection for each transaction gives
    it to two clients in turn, or others to one client.

    Raises:
        StorageError: it has not, but belongs to a pooler in transaction mode.
    """
    own = _server_process(connection)
    if own == connection.info.backend_pid:
        return
    with (
        suppress(psycopg.OperationalError),  # a pool of a single session is not shared
        BoundedConnection.connect(address, autocommit=True) as other,
    ):
        for _ in range(_ROUNDS):
            if _server_process(other) == own or _server_process(connection) != own:
                raise StorageError(_IS_SHARED)


def _server_process(connection: "psycopg.Connection[Any]") -> int:
    row = connection.cursor(row_factory=tuple_row).execute(_BACKEND).fetchone()
    assert row is not None
    return row[0]


def is_lost(error: BaseException) -> bool:
    """Return whether an error says that a connection is lost, not that a statement or a pool failed."""
    if not isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
        return False
    if isinstance(error, (PoolClosed, PoolTimeout, PipelineAborted)):
        return False
    state = error.sqlstate
    # Connection exceptions, a server that shuts down or ends idle sessions.
    return state is None or state.startswith(("08", "57P", "25P03"))
