"""The folders of persistent data and of knowledge files, and locks between processes."""

import hashlib
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from typing import Final

from crewgraph.disk import private_file
from crewgraph.settings import storage_dir

KNOWLEDGE_DIRECTORY: Final = "knowledge"
"""The folder of knowledge files."""


def db_storage_path() -> str:
    """Return the folder for persistent data, creating it if necessary.

    This is crewgraph's folder; see `crewgraph.settings.storage_dir`. CrewAI has one per working directory.

    Raises:
        OSError: It cannot be created.
    """
    folder = storage_dir()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return str(folder)


@contextmanager
def lock(name: str, *, timeout: float = 120) -> Generator[None]:
    """Hold a named lock for the duration of the block; it is released if the process is killed.

    Args:
        name: any text.
        timeout: the maximum wait in seconds.

    Raises:
        TimeoutError: The lock was not released in time.
    """
    file = storage_dir() / "locks" / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.db"
    private_file(file)
    # SQLite locks files in the way of every platform.
    with closing(sqlite3.connect(file, timeout=timeout, isolation_level=None)) as held:
        try:
            held.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            raise TimeoutError(f"the lock `{name}` could not be acquired within {timeout:g} seconds.") from error
        yield
