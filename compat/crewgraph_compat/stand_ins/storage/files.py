"""The storage folder, inter-process locks, and the files that programs write themselves."""

import hashlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypedDict, Unpack
from uuid import UUID

from crewgraph.definitions.crew.training import training_path
from crewgraph.disk import private_file, replace_file
from crewgraph.errors import StorageError
from crewgraph.observe.logfile import add_entry, log_path
from crewgraph.settings import storage_dir
from crewgraph_compat.stand_ins.storage.serialization import CrewJSONEncoder

__all__ = [
    "DEFAULT_TTL",
    "CrewTrainingHandler",
    "FileHandler",
    "LogEntry",
    "PickleHandler",
    "aclear_files",
    "aclear_task_files",
    "aget_all_files",
    "aget_files",
    "aget_task_files",
    "astore_files",
    "astore_task_files",
    "clear_files",
    "clear_task_files",
    "db_storage_path",
    "get_all_files",
    "get_files",
    "get_project_directory_name",
    "get_task_files",
    "lock",
    "store_files",
    "store_task_files",
]


def db_storage_path() -> str:
    """Return the folder for persistent data, creating it if necessary.

    This is crewgraph's folder; see `crewgraph.settings.storage_dir`. CrewAI has one per working directory.

    Raises:
        OSError: It cannot be created.
    """
    folder = storage_dir()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return str(folder)


def get_project_directory_name() -> str:
    """Return the value of CREWAI_STORAGE_DIR, or else the name of the working directory."""
    return os.environ.get("CREWAI_STORAGE_DIR") or Path.cwd().name


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


class LogEntry(TypedDict, total=False):
    """The fields of a log entry."""

    task_name: str
    task: str
    agent: str
    status: str
    output: str
    input: str
    message: str
    level: str
    crew: str
    flow: str
    tool: str
    error: str
    duration: float
    metadata: dict[str, Any]


class FileHandler:
    """Append entries to a file in the format of `Crew(output_log_file=...)`.

    Args:
        file_path: the file, or True for `logs.txt`; .txt is appended unless it ends in .txt or .json.

    Raises:
        ValueError: The value is neither True nor a name.
    """

    def __init__(self, file_path: bool | str) -> None:
        if not isinstance(file_path, str) and file_path is not True:
            raise ValueError(f"`file_path` is {file_path!r}; pass the name of a file, or True for `logs.txt`")
        is_named = isinstance(file_path, str)
        ending = "" if is_named and file_path.endswith((".json", ".txt")) else ".txt"
        self._path = f"{file_path}{ending}" if is_named else os.path.join(os.curdir, "logs.txt")

    def log(self, **kwargs: Unpack[LogEntry]) -> None:
        """Append an entry with the current time.

        Raises:
            ValueError: The file cannot be written, or is a .json file with other contents.
        """
        try:
            add_entry(log_path(self._path), {"timestamp": f"{datetime.now():%Y-%m-%d %H:%M:%S}", **kwargs})
        except (OSError, ValueError) as error:
            raise ValueError(f"the log file `{self._path}` cannot be written: {error}") from error


class PickleHandler:
    """Store data in a JSON file, whatever its extension: `x` and `x.pkl` mean `x.json`.

    Integer keys become strings in JSON and are converted back when read.

    Args:
        file_name: the file, in the working directory.

    Raises:
        RunError: The name is not a valid file name.
    """

    def __init__(self, file_name: str) -> None:
        self.file_path = str(training_path(file_name, label="`file_name`").absolute())

    def initialize_file(self) -> None:
        """Create an empty file, replacing an existing one."""
        self.save({})

    def save(self, data: Any) -> None:
        """Replace the contents of the file.

        Raises:
            TypeError: The data are not JSON serializable.
            StorageError: the file cannot be written.
        """
        try:
            replace_file(self.file_path, json.dumps(data, cls=CrewJSONEncoder, indent=2))
        except OSError as error:
            raise StorageError(f"`{self.file_path}` cannot be written: {error}") from error

    def load(self) -> Any:
        """Return the contents of the file, or an empty dict if it is missing or empty.

        Raises:
            StorageError: The file cannot be read or is not JSON.
        """
        try:
            written = Path(self.file_path).read_bytes()
            return json.loads(written, object_pairs_hook=_numbered) if written.strip() else {}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise StorageError(
                f"`{self.file_path}` cannot be read: {error}. The file must contain JSON; pickles are not opened."
            ) from error


class CrewTrainingHandler(PickleHandler):
    """Store training feedback by agent and iteration; `crew.train` uses a separate file."""

    def save_trained_data(self, agent_id: str, trained_data: dict[str, Any]) -> None:
        """Replace what an agent has learned."""
        self.save({**self.load(), agent_id: trained_data})

    def append(self, train_iteration: int, agent_id: str, new_data: Any) -> None:
        """Replace the data of an agent's iteration."""
        data = self.load()
        data.setdefault(agent_id, {})[train_iteration] = new_data
        self.save(data)

    def clear(self) -> None:
        """Clear the file if it exists."""
        if Path(self.file_path).exists():
            self.save({})


def _numbered(pairs: list[tuple[str, Any]]) -> dict[Any, Any]:
    return {int(key) if key.isdecimal() else key: value for key, value in pairs}


DEFAULT_TTL: Final = 3600
"""The default time to live of files, in seconds."""

_Files = dict[str, Any]


class _Shelf:
    """Files by the id of their owner."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[UUID, tuple[float, _Files]] = {}

    def put(self, owner: UUID, files: _Files, seconds: float) -> None:
        now = time.monotonic()
        with self._lock:
            self._entries = {item: held for item, held in self._entries.items() if held[0] > now}
            self._entries[owner] = (now + seconds, dict(files))

    def get(self, owner: UUID) -> _Files | None:
        with self._lock:
            until, files = self._entries.get(owner, (0.0, {}))
            return dict(files) if files and until > time.monotonic() else None

    def clear(self, owner: UUID) -> None:
        with self._lock:
            self._entries.pop(owner, None)


_of_runs = _Shelf()
_of_tasks = _Shelf()


def store_files(execution_id: UUID, files: _Files, ttl: int = DEFAULT_TTL) -> None:
    """Store the files of a run for `ttl` seconds, replacing earlier ones."""
    _of_runs.put(execution_id, files, ttl)


def get_files(execution_id: UUID) -> _Files | None:
    """Return the files of a run by name, or None if there are none."""
    return _of_runs.get(execution_id)


def clear_files(execution_id: UUID) -> None:
    """Discard the files of a run."""
    _of_runs.clear(execution_id)


def store_task_files(task_id: UUID, files: _Files, ttl: int = DEFAULT_TTL) -> None:
    """Store the files of a task for `ttl` seconds, replacing earlier ones."""
    _of_tasks.put(task_id, files, ttl)


def get_task_files(task_id: UUID) -> _Files | None:
    """Return the files of a task by name, or None if there are none."""
    return _of_tasks.get(task_id)


def clear_task_files(task_id: UUID) -> None:
    """Discard the files of a task."""
    _of_tasks.clear(task_id)


def get_all_files(crew_id: UUID, task_id: UUID | None = None) -> _Files | None:
    """Return the files of a run and a task by name, preferring the task's, or None if there are none."""
    of_task = get_task_files(task_id) if task_id else None
    return {**(get_files(crew_id) or {}), **(of_task or {})} or None


async def astore_files(execution_id: UUID, files: _Files, ttl: int = DEFAULT_TTL) -> None:
    """Asynchronous `store_files`."""
    store_files(execution_id, files, ttl)


async def aget_files(execution_id: UUID) -> _Files | None:
    """Asynchronous `get_files`."""
    return get_files(execution_id)


async def aclear_files(execution_id: UUID) -> None:
    """Asynchronous `clear_files`."""
    clear_files(execution_id)


async def astore_task_files(task_id: UUID, files: _Files, ttl: int = DEFAULT_TTL) -> None:
    """Asynchronous `store_task_files`."""
    store_task_files(task_id, files, ttl)


async def aget_task_files(task_id: UUID) -> _Files | None:
    """Asynchronous `get_task_files`."""
    return get_task_files(task_id)


async def aclear_task_files(task_id: UUID) -> None:
    """Asynchronous `clear_task_files`."""
    clear_task_files(task_id)


async def aget_all_files(crew_id: UUID, task_id: UUID | None = None) -> _Files | None:
    """Asynchronous `get_all_files`."""
    return get_all_files(crew_id, task_id)
