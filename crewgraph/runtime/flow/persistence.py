"""A persistence backend for the states of flows, in a SQLite file."""

import json
import sqlite3
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_jsonable_python

from crewgraph.compiler.flow.saving import backend_of_states
from crewgraph.definitions.flow.feedback import PendingFeedbackContext
from crewgraph.definitions.flow.flow import FlowDefinition
from crewgraph.definitions.flow.persistence import FlowPersistence
from crewgraph.disk import private_file
from crewgraph.errors import DefinitionError, StorageError
from crewgraph.runtime.runs.storage import checkpointer_at
from crewgraph.schema import PlainDict
from crewgraph.settings import storage_dir

_NAME = "flow_states.db"
_BUSY_TIMEOUT = 30.0
"""Seconds to wait for the write lock of another process."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS flow_states (
    id INTEGER PRIMARY KEY AUTOINCREMENT, flow_uuid TEXT NOT NULL, method_name TEXT NOT NULL, timestamp DATETIME NOT NULL,
    state_json TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS idx_flow_states_uuid ON flow_states (flow_uuid);
CREATE TABLE IF NOT EXISTS pending_feedback (
    id INTEGER PRIMARY KEY AUTOINCREMENT, flow_uuid TEXT NOT NULL UNIQUE, context_json TEXT NOT NULL, state_json TEXT NOT NULL,
    created_at DATETIME NOT NULL
);
CREATE TABLE IF NOT EXISTS answered_questions (flow TEXT PRIMARY KEY, taker TEXT NOT NULL) WITHOUT ROWID;
"""
# The first two tables are CrewAI's, so that a file that it wrote is read, and programs that read the file find what they expect.


class SQLiteFlowPersistence(FlowPersistence):
    """Stores the states of runs in a SQLite file, as JSON, in the tables of CrewAI; threads and processes may share it.

    A flow with this backend at a path of its own, and no other checkpointer, has its checkpoints beside that file, so that
    runs of different files do not mix.

    Values without a JSON type (dates, sets, models in a dict) are stored as the nearest one; a state with a model gets its
    types back when it is restored.

    Args:
        db_path: the file, created with its folders if missing; None is `flow_states.db` in the storage folder.
        more: CrewAI's own fields, ignored.

    Raises:
        DefinitionError: `db_path` is not a file.
        StorageError: the file cannot be created or opened.
    """

    db_path: str = ""
    """The file."""

    def __init__(self, db_path: str | Path | None = None, **more: object) -> None:
        if str(db_path) == ":memory:":
            raise DefinitionError(
                "`db_path` is `:memory:`, which is lost with each connection; pass the path of a file."
            )
        self.db_path: str = str(db_path) if db_path is not None else str(storage_dir() / _NAME)
        """The file."""

        self.init_db()

    def __repr__(self) -> str:
        return f"SQLiteFlowPersistence({self.db_path!r})"

    def init_db(self) -> None:
        """Create the file and its tables if they are missing."""
        try:
            private_file(self.db_path)
        except OSError as error:
            raise StorageError(f"{self.db_path} cannot be created: {error}. Pass another `db_path`.") from error
        with self._connected() as connection:
            connection.executescript(_SCHEMA)

    def save_state(self, flow_uuid: str, method_name: str, state_data: dict[str, object] | BaseModel) -> None:
        """Save a state, as the last of its run.

        Raises:
            DefinitionError: it is neither a pydantic model nor a dict.
            StorageError: it holds a value that cannot be stored as JSON, or the file cannot be written.
        """
        with self._connected() as connection:
            connection.execute(
                "INSERT INTO flow_states (flow_uuid, method_name, timestamp, state_json) VALUES (?, ?, ?, ?)",
                (flow_uuid, method_name, _now(), _to_json(state_data, flow_uuid)),
            )

    def load_state(self, flow_uuid: str) -> PlainDict | None:
        """Return the last saved state of an id; None without one."""
        with self._connected() as connection:
            query = "SELECT state_json FROM flow_states WHERE flow_uuid = ? ORDER BY id DESC LIMIT 1"
            row = connection.execute(query, (flow_uuid,)).fetchone()
        return None if row is None else json.loads(row[0])

    def save_pending_feedback(
        self, flow_uuid: str, context: PendingFeedbackContext, state_data: dict[str, object] | BaseModel
    ) -> None:
        """Save the state of a run with its pending question."""
        self.save_state(flow_uuid, context.method_name, state_data)
        with self._connected() as connection:
            connection.execute("DELETE FROM answered_questions WHERE flow = ?", (flow_uuid,))
            connection.execute(
                "INSERT OR REPLACE INTO pending_feedback (flow_uuid, context_json, state_json, created_at) VALUES (?, ?, ?, ?)",
                (flow_uuid, _to_json(context.to_dict(), flow_uuid), _to_json(state_data, flow_uuid), _now()),
            )

    def load_pending_feedback(self, flow_uuid: str) -> tuple[dict[str, object], PendingFeedbackContext] | None:
        """Return the state and question of a pending run; None if it is not pending."""
        with self._connected() as connection:
            query = "SELECT state_json, context_json FROM pending_feedback WHERE flow_uuid = ?"
            row = connection.execute(query, (flow_uuid,)).fetchone()
        return None if row is None else (json.loads(row[0]), PendingFeedbackContext.from_dict(json.loads(row[1])))

    def clear_pending_feedback(self, flow_uuid: str) -> None:
        """Delete the question after it was answered."""
        with self._connected() as connection:
            connection.execute("DELETE FROM pending_feedback WHERE flow_uuid = ?", (flow_uuid,))

    def take_pending_feedback(self, flow_uuid: str, taker: str) -> bool:
        """Delete the question; return False if another taker has answered it."""
        with self._connected() as connection:
            deleted = connection.execute("DELETE FROM pending_feedback WHERE flow_uuid = ?", (flow_uuid,)).rowcount
            if deleted:
                connection.execute("INSERT OR REPLACE INTO answered_questions VALUES (?, ?)", (flow_uuid, taker))
                return True
            row = connection.execute("SELECT taker FROM answered_questions WHERE flow = ?", (flow_uuid,)).fetchone()
        return row is None or row[0] == taker

    @contextmanager
    def _connected(self) -> Generator[sqlite3.Connection]:
        """Open a connection for one transaction, so that none is shared by threads or inherited by a fork."""
        try:
            connection = sqlite3.connect(self.db_path, timeout=_BUSY_TIMEOUT)
            try:
                with connection:
                    yield connection
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise StorageError(
                f"{self.db_path} cannot be used for states of flows: {error}. Make the file and its folder writable, with room "
                "on the disk, or give another `db_path`."
            ) from error


def saver_beside_states(flow: FlowDefinition) -> Any:
    """Return the checkpointer beside the file of a flow's states; None if it has none, or the default one."""
    backend = backend_of_states(flow)
    if not isinstance(backend, SQLiteFlowPersistence) or Path(backend.db_path) == storage_dir() / _NAME:
        return None
    return checkpointer_at(Path(f"{backend.db_path}-runs"))


def _now() -> str:
    return datetime.now(UTC).isoformat()


def _to_json(data: Mapping[str, object] | BaseModel, flow_uuid: str) -> str:
    values = {**data.__dict__, **(data.__pydantic_extra__ or {})} if isinstance(data, BaseModel) else data
    if not isinstance(values, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise DefinitionError(f"a state is a pydantic model or a dict, not {values!r:.60}")
    parts: dict[str, str] = {}
    for name, value in values.items():
        try:
            parts[str(name)] = json.dumps(value, default=to_jsonable_python)
        except (TypeError, ValueError, RecursionError, PydanticSerializationError) as error:
            raise StorageError(
                f"`{name}` in the state of run `{flow_uuid}` cannot be stored as JSON: {error}. Store the data that it is built "
                "from instead, or set it on the flow itself."
            ) from error
    return f"{{{', '.join(f'{json.dumps(name)}: {value}' for name, value in parts.items())}}}"
