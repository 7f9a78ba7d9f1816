"""How well tasks were done, kept in an SQLite file of one's own."""

import json
import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from crewgraph.errors import StorageError
from crewgraph.settings import private_file, storage_dir

__all__ = ["LTMSQLiteStorage"]

_FILE = "long_term_memory_storage.db"
_BUSY_SECONDS = 30
_TABLE = (
    "CREATE TABLE IF NOT EXISTS long_term_memories (id INTEGER PRIMARY KEY AUTOINCREMENT, task_description TEXT, "
    "metadata TEXT, datetime TEXT, score REAL)"
)
_INDEX = "CREATE INDEX IF NOT EXISTS long_term_tasks ON long_term_memories (task_description, datetime)"


class LTMSQLiteStorage:
    """Keeps how well tasks were done, in a table `long_term_memories`; files that CrewAI has written are read.

    Several processes may share the file.

    Args:
        db_path: the file; `long_term_memory_storage.db` in the storage folder where None.
    """

    def __init__(self, db_path: "str | Path | None" = None) -> None:
        self.db_path = str(storage_dir() / _FILE if db_path is None else Path(db_path).expanduser())
        self._lock = threading.Lock()

    def save(self, task_description: str, metadata: dict[str, Any], datetime: str, score: int | float | None) -> None:
        """Keep how well a task was done at some time; the same task, time and metadata are one row.

        Args:
            task_description: the task.
            metadata: what is known of it: JSON data.
            datetime: when, in seconds since 1970, as a text.
            score: from 0 to 10.

        Raises:
            StorageError: it cannot be kept.
        """
        row = (task_description, json.dumps(metadata, ensure_ascii=False, default=str), datetime)
        with self._connected("be written") as database:
            database.execute(
                "DELETE FROM long_term_memories WHERE task_description = ? AND metadata = ? AND datetime = ?", row
            )
            database.execute(
                "INSERT INTO long_term_memories (task_description, metadata, datetime, score) VALUES (?, ?, ?, ?)",
                (*row, score),
            )

    def load(self, task_description: str, latest_n: int) -> list[dict[str, Any]]:
        """What is known of a task, the latest first.

        Raises:
            StorageError: it cannot be read.
        """
        with self._connected("be read") as database:
            rows = database.execute(
                "SELECT metadata, datetime, score FROM long_term_memories WHERE task_description = ? "
                "ORDER BY datetime DESC, score ASC LIMIT ?",
                (task_description, max(latest_n, 0)),
            ).fetchall()
        return [{"metadata": json.loads(row[0]), "datetime": row[1], "score": row[2]} for row in rows]

    def reset(self) -> None:
        """Forget everything.

        Raises:
            StorageError: that cannot be done.
        """
        with self._connected("be emptied") as database:
            database.execute("DELETE FROM long_term_memories")

    @contextmanager
    def _connected(self, what: str) -> Generator[sqlite3.Connection]:
        # Opened for each use: what is kept open would not survive a fork, and a task is saved a few times a minute.
        try:
            private_file(self.db_path)
            with self._lock:
                database = sqlite3.connect(self.db_path, timeout=_BUSY_SECONDS)
                try:
                    with database:
                        database.execute(_TABLE)
                        database.execute(_INDEX)
                        yield database
                finally:
                    database.close()
        except (sqlite3.Error, OSError, ValueError) as error:
            raise StorageError(f"the long-term memory in `{self.db_path}` could not {what}: {error}") from error
