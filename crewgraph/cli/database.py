"""The database a command reads: the one that is named, or the default one."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from crewgraph.errors import StorageError
from crewgraph.extras import load
from crewgraph.settings import storage_dir

__all__ = ["Database", "opened"]

Database = Annotated[
    Path | None,
    typer.Option("--database", help="The file runs are kept in; the default database without it.", show_default=False),
]
"""The option of a command that reads what is kept."""


@contextmanager
def opened(path: Path | None) -> Generator[Any]:
    """The checkpointer on the database; nothing in it is forgotten because it is read.

    Raises:
        StorageError: there is no such file, or it is no database of ours.
    """
    storage: Any = load("crewgraph.runtime.storage")  # LangGraph comes with it, and the other commands do not need it
    sqlite: Any = load("crewgraph.storage.checkpoints.sqlite")
    file = path or storage_dir() / storage.DATABASE
    if not file.is_file():
        hint = "" if path else "; the first run that is kept creates it"
        raise StorageError(f"there is no database `{file}`{hint}")
    with sqlite.SqliteCheckpointer(file) as saver:
        yield saver
