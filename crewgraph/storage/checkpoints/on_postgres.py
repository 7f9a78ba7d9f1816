"""The part of a view of LangGraph's Postgres savers that outlives lost connections, bounds waits, and checks the run's claim.

The check is part of the statement that writes, so nothing can come between it and the write, whatever connection the saver takes.
So is the setting that makes the commit of a record wait for the server's disk. The names of the statements are those of
`BasePostgresSaver`.
"""

import time
from contextlib import nullcontext
from typing import Any, NoReturn

import psycopg
from langchain_core.runnables import RunnableConfig
from psycopg.errors import DivisionByZero, PipelineAborted
from psycopg_pool import ConnectionPool

from crewgraph.core.claims import Holder, claim_in
from crewgraph.core.journal import SYNCED
from crewgraph.errors import StorageError
from crewgraph.storage.claims.keepers import claim_keeper
from crewgraph.storage.claims.postgres import PostgresClaim
from crewgraph.storage.claims.process import busy
from crewgraph.storage.postgres import BoundedConnection, Deadline, is_lost

# For the transaction only, and only where the session would not wait: other values wait for more than this server.
_SYNC = "CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END"


def _fenced(name: str) -> property:
    def statement(view: "OnPostgres") -> str:
        own: str = getattr(super(OnPostgres, view), name)
        fence = view.claim and view.claim.fence
        checks = [f"({fence.replace('%', '%%')})"] if fence else []
        if view.synced:
            checks.append(_SYNC)
        if not checks:
            return own
        # A row that is left alone returns nothing, so nothing would be checked: such a row is set to what it is.
        own = own.replace("DO NOTHING", "DO UPDATE SET channel = checkpoint_writes.channel")
        return f"{own.strip().rstrip(';')} RETURNING {', '.join(checks)}"

    return property(statement)


class OnPostgres:
    """The part of a view of a Postgres saver; see `crewgraph.storage.checkpoints.strict`.

    An operation whose connection is lost is repeated on another one of the pool: rows are found by their keys, and a second write
    of the same row changes nothing. An operation ends within `BoundedConnection.answer_timeout` from when it has a connection.
    """

    viewed: Any
    claim: PostgresClaim | None = None
    """The claim to check; None in a view of no run."""

    synced: bool = False
    """Whether commits wait for the server's disk, whatever the session says."""

    connection: Any = None
    """The connection of a single operation; None in the view that begins it."""

    UPSERT_CHECKPOINTS_SQL = _fenced("UPSERT_CHECKPOINTS_SQL")
    UPSERT_CHECKPOINT_WRITES_SQL = _fenced("UPSERT_CHECKPOINT_WRITES_SQL")
    INSERT_CHECKPOINT_WRITES_SQL = _fenced("INSERT_CHECKPOINT_WRITES_SQL")

    @property
    def conn(self) -> Any:
        """The connection or the pool."""
        return self.viewed.conn if self.connection is None else self.connection

    def get_tuple(self, config: RunnableConfig) -> Any:
        """See LangGraph."""
        return _attempted(self, "get_tuple", config)

    def put(self, config: RunnableConfig, *args: Any, **named: Any) -> Any:
        """See LangGraph.

        Raises:
            ThreadBusy: the run has lost its claim; nothing is stored.
        """
        return _attempted(self, "put", config, *args, **named)

    def put_writes(self, config: RunnableConfig, *args: Any, **named: Any) -> Any:
        """See LangGraph.

        Raises:
            ThreadBusy: the run has lost its claim; nothing is stored.
        """
        return _attempted(self, "put_writes", config, *args, **named)

    async def aget_tuple(self, config: RunnableConfig) -> Any:
        """Async version of `get_tuple`."""
        return await _aattempted(self, "aget_tuple", config)

    async def aput(self, config: RunnableConfig, *args: Any, **named: Any) -> Any:
        """Async version of `put`."""
        return await _aattempted(self, "aput", config, *args, **named)

    async def aput_writes(self, config: RunnableConfig, *args: Any, **named: Any) -> Any:
        """Async version of `put_writes`."""
        return await _aattempted(self, "aput_writes", config, *args, **named)


def _attempted(view: OnPostgres, method: str, config: RunnableConfig, *args: Any, **named: Any) -> Any:
    if view.connection is not None or not isinstance(view.conn, (psycopg.Connection, ConnectionPool)):
        return getattr(super(OnPostgres, view), method)(config, *args, **named)  # an async saver's calls its async one
    attempts = _Attempts(view, config)
    with attempts.deadline:
        while True:
            try:
                with attempts.connection() as connection:
                    operation = getattr(super(OnPostgres, attempts.view_with(connection)), method)
                    result = operation(config, *args, **named)
                break
            except (DivisionByZero, PipelineAborted) as error:  # in a pipeline, what is behind the check may tell first
                if attempts.claim is not None:
                    attempts.claim.verify()  # says who has it
                attempts.refuse(error)
            except psycopg.Error as error:
                attempts.repeat_after(error)
    attempts.succeeded(method)
    return result


async def _aattempted(view: OnPostgres, method: str, config: RunnableConfig, *args: Any, **named: Any) -> Any:
    if view.connection is not None:
        return await getattr(super(OnPostgres, view), method)(config, *args, **named)
    attempts = _Attempts(view, config)
    with attempts.deadline:
        while True:
            try:
                async with attempts.connection() as connection:
                    operation = getattr(super(OnPostgres, attempts.view_with(connection)), method)
                    result = await operation(config, *args, **named)
                break
            except (DivisionByZero, PipelineAborted) as error:
                if attempts.claim is not None:
                    await attempts.claim.averify()
                attempts.refuse(error)
            except psycopg.Error as error:
                attempts.repeat_after(error)
    attempts.succeeded(method)
    return result


class _Attempts:
    """The attempts at an operation, which share a deadline.

    Raises:
        ThreadBusy: this process was forked from the one that runs the thread, and shares its connections.
    """

    def __init__(self, view: OnPostgres, config: RunnableConfig) -> None:
        self._view, claim = view, claim_in(config)
        self._synced = SYNCED in (config.get("configurable") or {})
        keeper: object = claim_keeper(view)  # pyright: ignore[reportArgumentType]
        self.claim = claim if isinstance(claim, PostgresClaim) and claim.claims is keeper else None
        if self.claim is not None:
            self.claim.check_process()
        self.deadline = Deadline(BoundedConnection.answer_timeout)
        # Those that the pool keeps may all be lost, and are found to be one after the other.
        self._left: int = getattr(view.conn, "max_size", 0)

    def connection(self) -> Any:
        """Return the context manager of a connection for an attempt, sync or async as the saver is."""
        own = self._view.conn
        return nullcontext(own) if self._has_single else own.connection()

    @property
    def _has_single(self) -> bool:
        return isinstance(self._view.conn, (psycopg.Connection, psycopg.AsyncConnection))

    def view_with(self, connection: Any) -> OnPostgres:
        """Return the view that makes an attempt on a connection, and let its deadline begin."""
        self.deadline.connection = connection
        view: Any = object.__new__(type(self._view))
        view.__dict__ = self._view.__dict__
        for name in ("viewed", "readers"):
            setattr(view, name, getattr(self._view, name))
        view.claim, view.synced, view.connection = self.claim, self._synced, connection
        return view

    def refuse(self, error: psycopg.Error) -> NoReturn:
        """Raise the error of a statement whose check failed, or that came behind such a statement."""
        if self.claim is None or isinstance(error, PipelineAborted):
            raise error
        raise busy(self.claim.thread_id, Holder("another process", None)) from error

    def repeat_after(self, error: psycopg.Error) -> None:
        """Return if another attempt may succeed, else raise the error.

        Raises:
            StorageError: the saver has a single connection, which is lost.
        """
        if self.deadline.is_over or not is_lost(error):
            raise error
        if self._has_single:
            why = " ".join(str(error).split())
            raise StorageError(
                f"the connection of the {type(self._view).__name__} to PostgreSQL was lost, and it has no other: {why}. Give it "
                "a pool of connections, `psycopg_pool.ConnectionPool` (`AsyncConnectionPool`), which replaces lost ones."
            ) from error
        self._left -= 1
        if self._left < 0:
            raise error

    def succeeded(self, method: str) -> None:
        """Note that a write has checked the claim."""
        if self.claim is not None and "put" in method:
            self.claim.checked_at = time.monotonic()
