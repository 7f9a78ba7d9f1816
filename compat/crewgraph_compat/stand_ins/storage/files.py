"""The storage folder, locks among processes that share it, and the files that programs write by themselves."""

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
    """Return the folder for data that is kept between runs, creating it if necessary.

    It is crewgraph's own; see `crewgraph.settings.storage_dir`. CrewAI's is one for each working directory.

    Raises:
        OSError: it cannot be made.
    """
    folder = storage_dir()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return str(folder)


def get_project_directory_name() -> str:
    """What CREWAI_STORAGE_DIR says, else the name of the working directory."""
    return os.environ.get("CREWAI_STORAGE_DIR") or Path.cwd().name


@contextmanager
def lock(name: str, *, timeout: float = 120) -> Generator[None]:
    """Hold a named lock for the duration of the block; it is released if the process is killed.

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
    """Adds entries to a file, in the form of `Crew(output_log_file=...)`, which writes its own.

    Args:
        file_path: the file: `logs.txt` for True; a name that ends neither in .txt nor in .json gets .txt.

    Raises:
        ValueError: it is neither True nor a name.
    """

    def __init__(self, file_path: bool | str) -> None:
        if not isinstance(file_path, str) and file_path is not True:
            raise ValueError(f"`file_path` is {file_path!r}; give the name of a file, or True for `logs.txt`")
        is_named = isinstance(file_path, str)
        ending = "" if is_named and file_path.endswith((".json", ".txt")) else ".txt"
        self._path = f"{file_path}{ending}" if is_named else os.path.join(os.curdir, "logs.txt")

    def log(self, **kwargs: Unpack[LogEntry]) -> None:
        """Add an entry, with the time in front of it.

        Raises:
            ValueError: the file cannot be written, or is a .json file of something else.
        """
        try:
            add_entry(log_path(self._path), {"timestamp": f"{datetime.now():%Y-%m-%d %H:%M:%S}", **kwargs})
        except (OSError, ValueError) as error:
            raise ValueError(f"the log file `{self._path}` cannot be written: {error}") from error


class PickleHandler:
    """Keeps data in a JSON file, whatever its name says: `x` and `x.pkl` stand for `x.json`.

    Numbers as keys become texts in JSON, and are numbers again when they are read.

    Args:
        file_name: the file, in the working directory.

    Raises:
        RunError: it is no name of a file.
    """

    def __init__(self, file_name: str) -> None:
        self.file_path = str(training_path(file_name, label="`file_name`").absolute())

    def initialize_file(self) -> None:
        """Make the file anew, with nothing in it."""
        self.save({})

    def save(self, data: Any) -> None:
        """Keep data in the place of what the file held.

        Raises:
            TypeError: it is nothing that JSON can hold.
            StorageError: the file cannot be written.
        """
        try:
            Path(self.file_path).write_text(json.dumps(data, cls=CrewJSONEncoder, indent=2), "utf-8")
        except OSError as error:
            raise StorageError(f"`{self.file_path}` cannot be written: {error}") from error

    def load(self) -> Any:
        """What the file holds; an empty dict where there is none, or nothing in it.

        Raises:
            StorageError: it cannot be read, or is no JSON.
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
    """What people said of answers, by agents and rounds, kept by hand; `crew.train` keeps a file of its own."""

    def save_trained_data(self, agent_id: str, trained_data: dict[str, Any]) -> None:
        """Keep what an agent learned, in the place of what is kept of it."""
        self.save({**self.load(), agent_id: trained_data})

    def append(self, train_iteration: int, agent_id: str, new_data: Any) -> None:
        """Add what belongs to a round of an agent, in the place of what is kept of that round."""
        data = self.load()
        data.setdefault(agent_id, {})[train_iteration] = new_data
        self.save(data)

    def clear(self) -> None:
        """Forget everything, if there is such a file."""
        if Path(self.file_path).exists():
            self.save({})


def _numbered(pairs: list[tuple[str, Any]]) -> dict[Any, Any]:
    return {int(key) if key.isdecimal() else key: value for key, value in pairs}


DEFAULT_TTL: Final = 3600
"""How long files are held, in seconds."""

_Files = dict[str, Any]


class _Shelf:
    """_Files by the id of whatever they belong to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[UUID, tuple[float, _Files]] = {}

    def put(self, owner: UUID, files: _Files, seconds: float) -> None:
        now = time.monotonic()
        with self._lock:
            self._held = {item: held for item, held in self._held.items() if held[0] > now}
            self._held[owner] = (now + seconds, dict(files))

    def get(self, owner: UUID) -> _Files | None:
        with self._lock:
            until, files = self._held.get(owner, (0.0, {}))
            return dict(files) if files and until > time.monotonic() else None

    def clear(self, owner: UUID) -> None:
        with self._lock:
            self._held.pop(owner, None)


_of_runs = _Shelf()
_of_tasks = _Shelf()


def store_files(execution_id: UUID, files: _Files, ttl: int = DEFAULT_TTL) -> None:
    """Hold the files of a run, in the place of others of it, for `ttl` seconds."""
    _of_runs.put(execution_id, files, ttl)


def get_files(execution_id: UUID) -> _Files | None:
    """The files of a run, by name; None where there are none."""
    return _of_runs.get(execution_id)


def clear_files(execution_id: UUID) -> None:
    """Hold the files of a run no longer."""
    _of_runs.clear(execution_id)


def store_task_files(task_id: UUID, files: _Files, ttl: int = DEFAULT_TTL) -> None:
    """Hold the files of a task, in the place of others of it, for `ttl` seconds."""
    _of_tasks.put(task_id, files, ttl)


def get_task_files(task_id: UUID) -> _Files | None:
    """The files of a task, by name; None where there are none."""
    return _of_tasks.get(task_id)


def clear_task_files(task_id: UUID) -> None:
    """Hold the files of a task no longer."""
    _of_tasks.clear(task_id)


def get_all_files(crew_id: UUID, task_id: UUID | None = None) -> _Files | None:
    """The files of a run and of a task; of two with one name the task's. None where there are none."""
    of_task = get_task_files(task_id) if task_id else None
    return {**(get_files(crew_id) or {}), **(of_task or {})} or None


async def astore_files(execution_id: UUID, files: _Files, ttl: int = DEFAULT_TTL) -> None:
    """`store_files` for coroutines; nothing is waited for."""
    store_files(execution_id, files, ttl)


async def aget_files(execution_id: UUID) -> _Files | None:
    """`get_files` for coroutines."""
    return get_files(execution_id)


async def aclear_files(execution_id: UUID) -> None:
    """`clear_files` for coroutines."""
    clear_files(execution_id)


async def astore_task_files(task_id: UUID, files: _Files, ttl: int = DEFAULT_TTL) -> None:
    """`store_task_files` for coroutines."""
    store_task_files(task_id, files, ttl)


async def aget_task_files(task_id: UUID) -> _Files | None:
    """`get_task_files` for coroutines."""
    return get_task_files(task_id)


async def aclear_task_files(task_id: UUID) -> None:
    """`clear_task_files` for coroutines."""
    clear_task_files(task_id)


async def aget_all_files(crew_id: UUID, task_id: UUID | None = None) -> _Files | None:
    """`get_all_files` for coroutines."""
    return get_all_files(crew_id, task_id)
