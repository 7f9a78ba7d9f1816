"""Task outputs: those of the latest run, those in an SQLite file, and combined as one text."""

import json
import sqlite3
import warnings
from collections.abc import Generator, Iterable, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

from crewgraph.compiler.crew.state import TASK
from crewgraph.definitions.crew.pending import RunFilter
from crewgraph.definitions.task.output import TaskOutput
from crewgraph.disk import private_file
from crewgraph.runtime.runs.index import all_runs
from crewgraph.runtime.runs.storage import DATABASE
from crewgraph.runtime.runs.stored_run import stored_run
from crewgraph.settings import storage_dir
from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer
from crewgraph.task import Task
from crewgraph_compat.stand_ins.constants import Unspecified
from crewgraph_compat.stand_ins.storage.serialization import CrewJSONEncoder

__all__ = [
    "DIVIDERS",
    "AgentRepositoryError",
    "DatabaseError",
    "DatabaseOperationError",
    "KickoffTaskOutputsSQLiteStorage",
    "LatestRun",
    "TaskOutputStorageHandler",
    "aggregate_raw_outputs_from_task_outputs",
    "aggregate_raw_outputs_from_tasks",
    "latest_crew_run",
]


class TaskOutputStorageHandler:
    """Read the task outputs of a crew's latest run, which runs store automatically; `crew.runs` has all runs.

    Outputs added by a program replace those and are held in memory only.
    """

    def __init__(self) -> None:
        self._added: list[dict[str, Any]] | None = None

    def load(self) -> list[dict[str, Any]]:
        """Return the outputs as dicts.

        Each has "task_id", "task_key", "expected_output", "output", "task_index", "inputs", "was_replayed" and "timestamp".
        """
        if self._added is not None:
            return self._added
        run = latest_crew_run()
        return [] if run is None else run.outputs

    def add(
        self,
        task: Task,
        output: dict[str, Any],
        task_index: int,
        inputs: dict[str, Any] | None = None,
        was_replayed: bool = False,
    ) -> None:
        """Add an output."""
        entry = _entry(
            (str(task.id), task.key),
            task.expected_output,
            output,
            task_index,
            inputs or {},
            was_replayed,
            datetime.now(UTC),
        )
        self._added = [*(self._added or []), entry]

    def update(self, task_index: int, log: dict[str, Any]) -> None:
        """Change an output; an unknown index is ignored.

        Args:
            task_index: the index of the output.
            log: with "task", "output", "inputs" and "was_replayed".
        """
        output: Any = log["output"]
        fields = cast("dict[str, Any]", output if isinstance(output, dict) else output.model_dump(mode="json"))
        for entry in self._added or ():
            if entry["task_index"] == task_index:
                task: Any = log["task"]
                entry.update(
                    task_id=str(task.id),
                    task_key=task.key,
                    expected_output=task.expected_output,
                    output=fields,
                    inputs=log.get("inputs") or {},
                    was_replayed=bool(log.get("was_replayed")),
                )

    def reset(self) -> None:
        """Start over without outputs; stored runs are kept."""
        self._added = []


@dataclass(frozen=True)
class LatestRun:
    """The most recently saved run of a crew."""

    key: str
    """Identifies the run and its version."""

    at: datetime
    outputs: list[dict[str, Any]]


def latest_crew_run() -> LatestRun | None:
    """Return the latest run of a crew, or None."""
    file = storage_dir() / DATABASE
    if not file.is_file():
        return None
    with SqliteCheckpointer(file) as saver:
        latest = all_runs(saver, RunFilter(inside=True, limit=1), "crew")
        if not latest:
            return None
        run = stored_run(saver, latest[0].thread_id)
    at = latest[0].updated_at
    outputs = [
        _entry(
            _names_of(output),
            output.get("expected_output"),
            {field: value for field, value in output.items() if field != TASK},
            number,
            dict(run.inputs),
            False,
            at,
        )
        for number, output in enumerate(run.finished.values())
    ]
    return LatestRun(f"{latest[0].thread_id} {at.isoformat()} {len(outputs)}", at, outputs)


def _names_of(output: Mapping[str, Any]) -> tuple[str, str]:
    """Return the id and the key of the task of an output."""
    task: Mapping[str, Any] = output.get(TASK) or {}
    return str(task.get("id")), str(task.get("key"))


def _entry(
    task_names: tuple[str, str],
    expected: str | None,
    output: dict[str, Any],
    index: int,
    inputs: dict[str, Any],
    was_replayed: bool,
    at: datetime,
) -> dict[str, Any]:
    task_id, task_key = task_names
    return {
        "task_id": task_id,
        "task_key": task_key,
        "expected_output": expected,
        "output": output,
        "task_index": index,
        "inputs": inputs,
        "was_replayed": was_replayed,
        "timestamp": f"{at:%Y-%m-%d %H:%M:%S}",
    }


class DatabaseOperationError(Exception):
    """A database could not be read or written.

    Args:
        message: what.
        original_error: the database error.
    """

    def __init__(self, message: str, original_error: Exception | None = None) -> None:
        super().__init__(message)
        self.original_error = original_error


class DatabaseError:
    """The message templates of database errors."""

    INIT_ERROR: Final[str] = "the database cannot be created: {}"
    SAVE_ERROR: Final[str] = "task outputs cannot be saved: {}"
    UPDATE_ERROR: Final[str] = "task outputs cannot be updated: {}"
    LOAD_ERROR: Final[str] = "task outputs cannot be read: {}"
    DELETE_ERROR: Final[str] = "task outputs cannot be deleted: {}"

    @classmethod
    def format_error(cls, template: str, error: Exception) -> str:
        """Return the template filled with the database error."""
        return template.format(str(error))


class AgentRepositoryError(Exception):
    """An agent could not be read from a repository; never raised here, since crewgraph has no agent repository."""


_FILE = "task_outputs.db"
_TABLES = """
CREATE TABLE IF NOT EXISTS task_outputs (
    task_id TEXT PRIMARY KEY, task_key TEXT, expected_output TEXT, output JSON, task_index INTEGER, inputs JSON,
    was_replayed BOOLEAN, timestamp TEXT DEFAULT (datetime('now'))
);
CREATE TABLE IF NOT EXISTS taken (run TEXT);
"""
_COLUMNS = ("task_id", "task_key", "expected_output", "output", "task_index", "inputs", "was_replayed")
_JSON = frozenset({"output", "inputs"})


class KickoffTaskOutputsSQLiteStorage:
    """Task outputs in an SQLite file.

    Without a custom file, they start as the outputs of the latest crew run, which runs store automatically, and
    changes last until the next crew run; `crew.runs` has all runs.
    """

    def __init__(self, db_path: str | None = None) -> None:
        """Open the file.

        Args:
            db_path: the file; defaults to crewgraph's own in its storage folder.

        Raises:
            DatabaseOperationError: The file cannot be opened.
        """
        self._is_of_runs = db_path is None
        self.db_path = db_path or str(storage_dir() / _FILE)
        if db_path is not None:
            with self._opened(DatabaseError.INIT_ERROR):
                pass

    def load(self) -> list[dict[str, Any]]:
        """Return the outputs ordered by index.

        Each has "task_id", "task_key", "expected_output", "output", "task_index", "inputs", "was_replayed" and "timestamp".

        Raises:
            DatabaseOperationError: The outputs cannot be read.
        """
        run = latest_crew_run() if self._is_of_runs else None
        if not self._is_of_runs or Path(self.db_path).exists():
            with self._opened(DatabaseError.LOAD_ERROR) as database:
                if not self._is_of_runs or _copied_run(database) == _key(run):
                    return _rows(database)
        return [] if run is None else run.outputs

    def add(
        self,
        task: Task,
        output: dict[str, Any],
        task_index: int,
        was_replayed: bool = False,
        inputs: dict[str, Any] | None = None,
    ) -> None:
        """Add an output, replacing an earlier one of the same task.

        Raises:
            DatabaseOperationError: The file cannot be written.
        """
        with self._changed(DatabaseError.SAVE_ERROR) as database:
            names = (str(task.id), task.key)
            _insert(database, (*names, task.expected_output, output, task_index, inputs or {}, was_replayed))

    def update(self, task_index: int, **kwargs: Any) -> None:
        """Change an output; an unknown index causes a warning.

        Args:
            task_index: the index of the output.
            **kwargs: new values under the names that `load` returns.

        Raises:
            DatabaseOperationError: The file cannot be written, or a name is unknown.
        """
        unknown = [name for name in kwargs if name not in _COLUMNS]
        if unknown or not kwargs:
            named = f"there is no `{unknown[0]}`" if unknown else "there is nothing to change"
            raise DatabaseOperationError(DatabaseError.UPDATE_ERROR.format(f"{named}; there is {', '.join(_COLUMNS)}"))
        words = ", ".join(f"{name} = ?" for name in kwargs)
        values = [_stored(name, value) for name, value in kwargs.items()]
        with self._changed(DatabaseError.UPDATE_ERROR) as database:
            done = database.execute(f"UPDATE task_outputs SET {words} WHERE task_index = ?", (*values, task_index))
            result = done.rowcount
        if not result:
            warnings.warn(f"no task output has the number {task_index}; nothing was changed", stacklevel=2)

    def delete_all(self) -> None:
        """Remove all outputs; stored runs are kept.

        Raises:
            DatabaseOperationError: The file cannot be written.
        """
        with self._changed(DatabaseError.DELETE_ERROR) as database:
            database.execute("DELETE FROM task_outputs")

    @contextmanager
    def _changed(self, template: str) -> Generator[sqlite3.Connection]:
        """Open the file for a change, first copying the outputs of the latest run into it if they are affected."""
        run = latest_crew_run() if self._is_of_runs else None
        with self._opened(template) as database:
            if self._is_of_runs and _copied_run(database) != _key(run):
                database.execute("DELETE FROM task_outputs")
                database.execute("DELETE FROM taken")
                database.execute("INSERT INTO taken VALUES (?)", (_key(run),))
                for item in run.outputs if run is not None else ():
                    _insert(database, tuple(item[name] for name in _COLUMNS))
            yield database

    @contextmanager
    def _opened(self, template: str) -> Generator[sqlite3.Connection]:
        try:
            if self._is_of_runs:
                private_file(self.db_path)
            with closing(sqlite3.connect(self.db_path)) as database, database:
                database.executescript(_TABLES)
                if "task_key" not in {column[1] for column in database.execute("PRAGMA table_info(task_outputs)")}:
                    database.execute("ALTER TABLE task_outputs ADD COLUMN task_key TEXT")  # of an earlier version
                yield database
        except (sqlite3.Error, OSError) as error:
            raise DatabaseOperationError(DatabaseError.format_error(template, error), error) from error


def _insert(database: sqlite3.Connection, values: tuple[Any, ...]) -> None:
    stored = [_stored(name, value) for name, value in zip(_COLUMNS, values, strict=True)]
    places = ", ".join("?" for _ in _COLUMNS)
    database.execute(f"INSERT OR REPLACE INTO task_outputs ({', '.join(_COLUMNS)}) VALUES ({places})", stored)


def _stored(name: str, value: Any) -> Any:
    return json.dumps(value, cls=CrewJSONEncoder) if name in _JSON else value


def _rows(database: sqlite3.Connection) -> list[dict[str, Any]]:
    names = (*_COLUMNS, "timestamp")
    result = database.execute(f"SELECT {', '.join(names)} FROM task_outputs ORDER BY task_index")
    rows: list[dict[str, Any]] = [dict(zip(names, row, strict=True)) for row in result]
    return [
        {**row, **{name: json.loads(row[name]) for name in _JSON}, "was_replayed": bool(row["was_replayed"])}
        for row in rows
    ]


def _copied_run(database: sqlite3.Connection) -> str | None:
    """Return the run whose outputs were copied into the file, or None."""
    result = database.execute("SELECT run FROM taken").fetchone()
    return None if result is None else str(result[0])


def _key(run: LatestRun | None) -> str:
    return "" if run is None else run.key


DIVIDERS: Final = "\n\n----------\n\n"
"""The separator between two outputs."""


def aggregate_raw_outputs_from_task_outputs(task_outputs: Iterable[TaskOutput]) -> str:
    """Join the raw texts of outputs."""
    return DIVIDERS.join(output.raw for output in task_outputs)


def aggregate_raw_outputs_from_tasks(tasks: Iterable[Task] | Unspecified) -> str:
    """Join the raw texts of the outputs of tasks."""
    if isinstance(tasks, Unspecified):
        return ""
    outputs = (cast("Any", task.output) for task in tasks)
    return aggregate_raw_outputs_from_task_outputs(output for output in outputs if output is not None)
