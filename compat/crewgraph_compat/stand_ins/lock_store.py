"""A lock by name, among all threads and processes that use a storage folder."""

import hashlib
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager

from crewgraph.settings import storage_dir

__all__ = ["lock"]


@contextmanager
def lock(name: str, *, timeout: float = 120) -> Generator[None]:
    """Hold the lock of a name for as long as the block lasts; a process that is killed lets go of it.

    Args:
        name: any text.
        timeout: seconds to wait for whoever holds it.

    Raises:
        TimeoutError: it was held all that time.
    """
    folder = storage_dir() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.db"
    # SQLite locks files in the way of every platform.
    with closing(sqlite3.connect(file, timeout=timeout, isolation_level=None)) as held:
        try:
            held.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            raise TimeoutError(f"the lock `{name}` was not free within {timeout:g} seconds.") from error
        yield
