"""The storage folder, locks among processes that share it, and names of files."""

import hashlib
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from typing import Final

from crewgraph.settings import storage_dir

__all__ = [
    "KNOWLEDGE_DIRECTORY",
    "MAX_FILE_NAME_LENGTH",
    "NOT_SPECIFIED",
    "TRAINED_AGENTS_DATA_FILE",
    "TRAINING_DATA_FILE",
    "Unspecified",
    "db_storage_path",
    "lock",
]


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


def db_storage_path() -> str:
    """The folder for what is kept between runs, made if it is not there.

    It is crewgraph's own; see `crewgraph.settings.storage_dir`. CrewAI's is one for each working directory.

    Raises:
        OSError: it cannot be made.
    """
    folder = storage_dir()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return str(folder)


class Unspecified:
    """What stands where nobody gave anything, and None would mean something; there is one."""

    def __repr__(self) -> str:
        return "NOT_SPECIFIED"


NOT_SPECIFIED: Final = Unspecified()
"""Says that nothing was given."""

TRAINING_DATA_FILE: Final = "training_data.pkl"
"""Where CrewAI keeps what people said in a training; here the name stands for a .json file."""

TRAINED_AGENTS_DATA_FILE: Final = "trained_agents_data.pkl"
"""Where CrewAI keeps what agents learned; here the name stands for a .json file."""


KNOWLEDGE_DIRECTORY: Final = "knowledge"
"""The folder that files of knowledge are looked for in."""

MAX_FILE_NAME_LENGTH: Final = 255
"""How long the name of a file may be, in characters."""
