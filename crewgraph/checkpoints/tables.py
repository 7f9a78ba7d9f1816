"""The tables of one kind of database, and how a file comes to have them."""

import sqlite3
from typing import NamedTuple

from crewgraph.checkpoints.faults import Faults
from crewgraph.errors import StorageError

__all__ = ["Tables"]


class Tables(NamedTuple):
    """What makes a file a database of its kind."""

    faults: Faults
    """How its faults are told."""

    application: int
    """The number in the file's header: a file of another program is never touched."""

    migrations: tuple[str, ...]
    """What brings the tables from a version to the next, statements with `;` between; the first makes those of an empty file.
    The version stands in `PRAGMA user_version`."""

    look: str
    """A query that fails where the tables are not what they should be."""

    @property
    def version(self) -> int:
        """The version of the tables."""
        return len(self.migrations)

    def prepare(self, connection: sqlite3.Connection, path: str) -> None:
        """Give an empty file its tables and bring older tables up to date, in one transaction.

        Raises:
            StorageError: the file belongs to another program, or to a newer crewgraph.
        """
        if self._found(connection, path) == self.version:
            return
        connection.execute("BEGIN IMMEDIATE")  # another process may be doing the same: look again inside
        for migration in self.migrations[self._found(connection, path) :]:
            for statement in migration.split(";"):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {self.application}")
        connection.execute(f"PRAGMA user_version = {self.version}")
        connection.execute("COMMIT")

    def _found(self, connection: sqlite3.Connection, path: str) -> int:
        application: int = connection.execute("PRAGMA application_id").fetchone()[0]
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        if application != self.application:
            if version or application or connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                raise StorageError(
                    f"The file `{path}` is a database of another program. Choose another path for the {self.faults.noun}."
                )
            return 0
        if version > self.version:
            raise StorageError(
                f"The {self.faults.noun} `{path}` was written by a newer crewgraph (its tables have version "
                f"{version}, this one knows {self.version}). "
                "Upgrade crewgraph, or set CREWGRAPH_STORAGE_DIR to another folder."
            )
        return version
