"""_Files that belong to a run or to a task, held in the process for a while."""

import threading
import time
from typing import Any, Final
from uuid import UUID

__all__ = [
    "DEFAULT_TTL",
    "aclear_files",
    "aclear_task_files",
    "aget_all_files",
    "aget_files",
    "aget_task_files",
    "astore_files",
    "astore_task_files",
    "clear_files",
    "clear_task_files",
    "get_all_files",
    "get_files",
    "get_task_files",
    "store_files",
    "store_task_files",
]

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
            self._held = {one: held for one, held in self._held.items() if held[0] > now}
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
