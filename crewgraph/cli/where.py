"""`crewgraph where`: the place where runs are kept."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import typer

from crewgraph.extras import load
from crewgraph.settings import storage_dir

__all__ = ["where"]

_SECONDS = 5
_STEP = 1024
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def where() -> None:
    """Show where runs are kept, how much room they take, and how many there are."""
    # LangGraph comes with both, and the other commands do not need it.
    storage: Any = load("crewgraph.runtime.storage")
    databases: Any = load("crewgraph.storage.database")
    database = storage_dir() / storage.DATABASE
    typer.echo(f"database  {database}")
    if not database.is_file():
        typer.echo("          not there yet: the first run that is kept creates it")
        return
    typer.echo(f"size      {_readable(_size(database))}")
    with closing(databases.Database(str(database), synchronous="NORMAL", timeout=_SECONDS)) as opened:
        typer.echo(f"threads   {opened.read(_threads)}")


def _threads(connection: sqlite3.Connection) -> int:
    return connection.execute("SELECT COUNT(DISTINCT thread) FROM lineages").fetchone()[0]


def _size(database: Path) -> int:
    """The bytes on disk, with the files that SQLite keeps beside a database in use."""
    beside = (database.with_name(f"{database.name}{ending}") for ending in ("", "-wal", "-shm"))
    return sum(path.stat().st_size for path in beside if path.exists())


def _readable(size: float) -> str:
    unit = 0
    while size >= _STEP and unit < len(_UNITS) - 1:
        size, unit = size / _STEP, unit + 1
    return f"{size:.1f} {_UNITS[unit]}" if unit else f"{size:.0f} {_UNITS[0]}"
