"""Savers on PostgreSQL that outlive a lost connection: what was not stored is stored once more, on another connection."""

import inspect
from collections.abc import Callable
from typing import Any

from crewgraph.errors import StorageError

__all__ = ["Reconnecting"]


class Reconnecting:
    """A part of a saver's class: an operation whose connection is lost is repeated once.

    Rows are found by their keys, and a second write of the same row changes nothing.
    """

    __slots__ = ()

    def get_tuple(self, *args: Any, **options: Any) -> Any:
        return _repeated(self, super().get_tuple, *args, **options)  # type: ignore[misc]

    def put(self, *args: Any, **options: Any) -> Any:
        return _repeated(self, super().put, *args, **options)  # type: ignore[misc]

    def put_writes(self, *args: Any, **options: Any) -> Any:
        return _repeated(self, super().put_writes, *args, **options)  # type: ignore[misc]

    async def aget_tuple(self, *args: Any, **options: Any) -> Any:
        return await _arepeated(self, super().aget_tuple, *args, **options)  # type: ignore[misc]

    async def aput(self, *args: Any, **options: Any) -> Any:
        return await _arepeated(self, super().aput, *args, **options)  # type: ignore[misc]

    async def aput_writes(self, *args: Any, **options: Any) -> Any:
        return await _arepeated(self, super().aput_writes, *args, **options)  # type: ignore[misc]


def _repeated(saver: Any, operation: Callable[..., Any], *args: Any, **options: Any) -> Any:
    try:
        return operation(*args, **options)
    except Exception as error:  # of psycopg, which is not imported here
        if not _is_lost_connection(error):
            raise
        _pool_of(saver, error).check()  # in place of those that were lost it opens others
    return operation(*args, **options)


async def _arepeated(saver: Any, operation: Callable[..., Any], *args: Any, **options: Any) -> Any:
    try:
        return await operation(*args, **options)
    except Exception as error:
        if not _is_lost_connection(error):
            raise
        await _pool_of(saver, error).check()
    return await operation(*args, **options)


def _is_lost_connection(error: Exception) -> bool:
    names = {base.__name__ for base in type(error).__mro__ if base.__module__.startswith("psycopg")}
    if not names & {"OperationalError", "InterfaceError"} or names & {"PoolTimeout", "PoolClosed", "PipelineAborted"}:
        return False
    state: str | None = getattr(error, "sqlstate", None)
    return state is None or state.startswith(("08", "57P"))  # connection exceptions, a server that shuts down


def _pool_of(saver: Any, error: Exception) -> Any:
    """Return the pool of a saver's connections.

    Raises:
        StorageError: it has a single connection.
    """
    pool = saver.conn
    if not inspect.isroutine(getattr(pool, "check", None)):
        why = " ".join(str(error).split())
        raise StorageError(
            f"the connection of the {type(saver).__name__} to PostgreSQL was lost, and it has no other: {why}. Give it a pool of "
            "connections, `psycopg_pool.ConnectionPool` (`AsyncConnectionPool`), which replaces those that are lost."
        ) from error
    return pool
