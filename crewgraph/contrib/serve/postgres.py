"""A Postgres database for the checkpoints and the records of a server."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.store.base import BaseStore
from langgraph.store.postgres.aio import AsyncPostgresStore
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from crewgraph.errors import StorageError

__all__ = ["opened_postgres"]

_CONNECTION: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
_CONNECTIONS = 10
_PATIENCE = 10.0  # seconds to wait for a first connection
_SETUP_LOCK = 7_130_442_096_115_340_021  # any number that nobody else locks


@asynccontextmanager
async def opened_postgres(url: str) -> AsyncGenerator[tuple[AsyncPostgresSaver, BaseStore]]:
    """Open a Postgres database for checkpoints and records.

    Args:
        url: its address, as libpq takes it.

    Raises:
        StorageError: it cannot be reached, or its tables cannot be made.
    """
    pool: AsyncConnectionPool[Any] = AsyncConnectionPool(
        url, kwargs=_CONNECTION, min_size=1, max_size=_CONNECTIONS, open=False
    )
    try:
        await pool.open(wait=True, timeout=_PATIENCE)
        saver, store = AsyncPostgresSaver(pool), AsyncPostgresStore(pool)
        async with pool.connection() as connection:  # servers that start at once make the tables one after the other
            await connection.execute(f"SELECT pg_advisory_lock({_SETUP_LOCK})")
            try:
                await saver.setup()
                await store.setup()
            finally:
                await connection.execute(f"SELECT pg_advisory_unlock({_SETUP_LOCK})")
    except (psycopg.Error, PoolTimeout) as error:
        await pool.close()
        why = " ".join(str(error).split())
        raise StorageError(f"the database cannot be used: {why} Check its address, and its user's rights.") from error
    async with pool:
        yield saver, store
