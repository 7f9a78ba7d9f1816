"""Outputs of tasks in an SQLite file, for programs that keep or read them there."""

import json
import sqlite3
import warnings
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from crewgraph.definitions.task.task import Task
from crewgraph.settings import private_file, storage_dir
from crewgraph_compat.stand_ins.database_errors import DatabaseError, DatabaseOperationError
from crewgraph_compat.stand_ins.json_encoder import CrewJSONEncoder
from crewgraph_compat.stand_ins.task_outputs import LatestRun, latest_run

__all__ = ["KickoffTaskOutputsSQLiteStorage"]

_FILE = "task_outputs.db"
_TABLES = """
CREATE TABLE IF NOT EXISTS task_outputs (
    task_id TEXT PRIMARY KEY, expected_output TEXT, output JSON, task_index INTEGER, inputs JSON, was_replayed BOOLEAN,
    timestamp TEXT DEFAULT (datetime('now'))
);
CREATE TABLE IF NOT EXISTS taken (run TEXT);
"""
_COLUMNS = ("task_id", "expected_output", "output", "task_index", "inputs", "was_replayed")
_JSON = frozenset({"output", "inputs"})


class KickoffTaskOutputsSQLiteStorage:
    """Outputs of tasks in an SQLite file.

    Without a file of one's own, they begin as what the latest run of a crew gave, which runs keep by themselves, and what is
    added, changed or removed holds until a crew runs again; `crew.runs` has all runs.
    """

    def __init__(self, db_path: str | None = None) -> None:
        """Name the file.

        Args:
            db_path: the file; crewgraph's own in its storage folder, if it is not given.

        Raises:
            DatabaseOperationError: it cannot be opened.
        """
        self._is_of_runs = db_path is None
        self.db_path = db_path or str(storage_dir() / _FILE)
        if db_path is not None:
            with self._opened(DatabaseError.INIT_ERROR):
                pass

    def load(self) -> list[dict[str, Any]]:
        """The outputs by their numbers.

        Each has "task_id", "expected_output", "output", "task_index", "inputs", "was_replayed" and "timestamp".

        Raises:
            DatabaseOperationError: they cannot be read.
        """
        run = latest_run() if self._is_of_runs else None
        if not self._is_of_runs or Path(self.db_path).exists():
            with self._opened(DatabaseError.LOAD_ERROR) as database:
                if not self._is_of_runs or _taken(database) == _key(run):
                    return _rows(database)
        return [] if run is None else [{**one, "timestamp": _shown(run)} for one in run.outputs]

    def add(
        self,
        task: Task,
        output: dict[str, Any],
        task_index: int,
        was_replayed: bool = False,
        inputs: dict[str, Any] | None = None,
    ) -> None:
        """Add an output, in the place of one of the same task.

        Raises:
            DatabaseOperationError: it cannot be written.
        """
        with self._changed(DatabaseError.SAVE_ERROR) as database:
            _insert(database, (str(task.id), task.expected_output, output, task_index, inputs or {}, was_replayed))

    def update(self, task_index: int, **kwargs: Any) -> None:
        """Change what is kept of an output; a warning tells where none has this number.

        Args:
            task_index: its number.
            **kwargs: what is to change, by the names that `load` gives.

        Raises:
            DatabaseOperationError: it cannot be written, or there is no such name.
        """
        unknown = [name for name in kwargs if name not in _COLUMNS]
        if unknown or not kwargs:
            named = f"there is no `{unknown[0]}`" if unknown else "nothing is to change"
            raise DatabaseOperationError(DatabaseError.UPDATE_ERROR.format(f"{named}; there is {', '.join(_COLUMNS)}"))
        words = ", ".join(f"{name} = ?" for name in kwargs)
        values = [_stored(name, value) for name, value in kwargs.items()]
        with self._changed(DatabaseError.UPDATE_ERROR) as database:
            done = database.execute(f"UPDATE task_outputs SET {words} WHERE task_index = ?", (*values, task_index))
            found = done.rowcount
        if not found:
            warnings.warn(f"no output of a task has the number {task_index}; nothing was changed", stacklevel=2)

    def delete_all(self) -> None:
        """Remove all outputs; runs stay kept.

        Raises:
            DatabaseOperationError: it cannot be written.
        """
        with self._changed(DatabaseError.DELETE_ERROR) as database:
            database.execute("DELETE FROM task_outputs")

    @contextmanager
    def _changed(self, told: str) -> Generator[sqlite3.Connection]:
        """The file, with the outputs of the latest run in it, where that is what is changed."""
        run = latest_run() if self._is_of_runs else None
        with self._opened(told) as database:
            if self._is_of_runs and _taken(database) != _key(run):
                database.execute("DELETE FROM task_outputs")
                database.execute("DELETE FROM taken")
                database.execute("INSERT INTO taken VALUES (?)", (_key(run),))
                for one in run.outputs if run is not None else ():
                    _insert(database, tuple(one[name] for name in _COLUMNS))
            yield database

    @contextmanager
    def _opened(self, told: str) -> Generator[sqlite3.Connection]:
        try:
            if self._is_of_runs:
                private_file(self.db_path)
            with closing(sqlite3.connect(self.db_path)) as database, database:
                database.executescript(_TABLES)
                yield database
        except (sqlite3.Error, OSError) as error:
            raise DatabaseOperationError(DatabaseError.format_error(told, error), error) from error


def _insert(database: sqlite3.Connection, values: tuple[Any, ...]) -> None:
    stored = [_stored(name, value) for name, value in zip(_COLUMNS, values, strict=True)]
    places = ", ".join("?" for _ in _COLUMNS)
    database.execute(f"INSERT OR REPLACE INTO task_outputs ({', '.join(_COLUMNS)}) VALUES ({places})", stored)


def _stored(name: str, value: Any) -> Any:
    return json.dumps(value, cls=CrewJSONEncoder) if name in _JSON else value


def _rows(database: sqlite3.Connection) -> list[dict[str, Any]]:
    names = (*_COLUMNS, "timestamp")
    found = database.execute(f"SELECT {', '.join(names)} FROM task_outputs ORDER BY task_index")
    rows: list[dict[str, Any]] = [dict(zip(names, row, strict=True)) for row in found]
    return [
        {**row, **{name: json.loads(row[name]) for name in _JSON}, "was_replayed": bool(row["was_replayed"])}
        for row in rows
    ]


def _taken(database: sqlite3.Connection) -> str | None:
    """The run that the outputs begin with; None where there is none yet."""
    found = database.execute("SELECT run FROM taken").fetchone()
    return None if found is None else str(found[0])


def _key(run: LatestRun | None) -> str:
    return "" if run is None else run.key


def _shown(run: LatestRun) -> str:
    return f"{run.at:%Y-%m-%d %H:%M:%S}"
