"""The tables of the checkpoint database, and how a file comes to have them.

- `lineages`: one thread in one namespace; its number, when it was last written, and when it began.
- `checkpoints`: one row a superstep; the versions of all channels and the numbers of their values, as JSON,
whole
  or as the difference to the parent's.
- `writes`: what a task wrote before its superstep ended, as the number of a value; where no channel can come to hold it, the
  bytes themselves, and the number -1.
- `payloads`: the bytes of values; a write and the channel it went to share them.
"""

import sqlite3

from crewgraph.errors import StorageError

__all__ = ["VERSION", "prepare"]

VERSION = 3
"""The version of the tables, kept in `PRAGMA user_version`."""

_APPLICATION = 0x43575247  # "CWRG" in the file's header: a file of another program is never touched

_TABLES = """
CREATE TABLE lineages (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    thread TEXT NOT NULL,
    ns TEXT NOT NULL,
    touched INTEGER NOT NULL,
    UNIQUE (thread, ns)
);
CREATE TABLE checkpoints (
    lineage INTEGER NOT NULL REFERENCES lineages ON DELETE CASCADE,
    id TEXT NOT NULL,
    parent TEXT,
    drift INTEGER NOT NULL,
    whole INTEGER NOT NULL,
    run TEXT,
    kind TEXT NOT NULL,
    head BLOB NOT NULL,
    versions TEXT NOT NULL,
    PRIMARY KEY (lineage, id)
) WITHOUT ROWID;
CREATE INDEX runs ON checkpoints (run) WHERE run IS NOT NULL;
CREATE TABLE writes (
    lineage INTEGER NOT NULL REFERENCES lineages ON DELETE CASCADE,
    checkpoint TEXT NOT NULL,
    task TEXT NOT NULL,
    idx INTEGER NOT NULL,
    path TEXT NOT NULL,
    channel TEXT NOT NULL,
    value INTEGER NOT NULL,
    PRIMARY KEY (lineage, checkpoint, task, idx)
) WITHOUT ROWID;
CREATE TABLE payloads (no INTEGER PRIMARY KEY, kind TEXT NOT NULL, data BLOB NOT NULL);
"""

_BEGINNINGS = """
ALTER TABLE lineages ADD COLUMN created REAL NOT NULL DEFAULT 0;
UPDATE lineages SET created = touched
"""

_OWN_BYTES = """
ALTER TABLE writes ADD COLUMN kind TEXT;
ALTER TABLE writes ADD COLUMN data BLOB
"""

_MIGRATIONS: dict[int, str] = {0: _TABLES, 1: _BEGINNINGS, 2: _OWN_BYTES}
"""What brings the tables from a version to the next; 0 is the empty file."""


def prepare(connection: sqlite3.Connection, path: str) -> None:
    """Give an empty file its tables and bring older tables up to date, in one transaction.

    Raises:
        StorageError: the file belongs to another program, or to a newer crewgraph.
    """
    if _version(connection, path) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")  # another process may be doing the same: look again inside
    for version in range(_version(connection, path), VERSION):
        for statement in _MIGRATIONS[version].split(";"):
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection, path: str) -> int:
    application: int = connection.execute("PRAGMA application_id").fetchone()[0]
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != _APPLICATION:
        if version or application or connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            raise StorageError(
                f"The file `{path}` is a database of another program. Choose another path for checkpoints."
            )
        return 0
    if version > VERSION:
        raise StorageError(
            f"The checkpoint database `{path}` was written by a newer crewgraph (its tables have version "
            f"{version}, this one knows {VERSION}). "
            "Upgrade crewgraph, or set CREWGRAPH_STORAGE_DIR to another folder."
        )
    return version
