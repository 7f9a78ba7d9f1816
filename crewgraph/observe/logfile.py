"""A run as entries in a file: what `output_log_file` asks for."""

import json
import logging
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from crewgraph.events import BaseEvent, EventBus, TaskCompletedEvent, TaskStartedEvent
from crewgraph.observe.redaction import Veil

__all__ = ["LogFileListener", "add_entry", "log_path"]


try:
    import fcntl
except ImportError:  # Windows: several processes there had better log into several files
    fcntl = None

_log = logging.getLogger("crewgraph")
_writing = threading.Lock()

_DEFAULT = "logs.txt"
_TAIL = 64
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)


def log_path(wish: bool | str) -> Path:
    """The file that `output_log_file` means: `logs.txt` for True; a name that ends neither in .txt nor in .json gets .txt."""
    name = _DEFAULT if wish is True else str(wish)
    return Path(name if name.endswith((".txt", ".json")) else f"{name}.txt").absolute()


class LogFileListener:
    """Writes the start and the completion of each task into files.

    A .json file is a list of objects, and is one after each entry; any other has a line for each entry. Values of environment
    variables that hold secrets are covered. What cannot be written is told once for each file, and the run goes on.

    Args:
        paths: the files that an event belongs into.
    """

    def __init__(self, paths: Callable[[BaseEvent], Iterable[Path]]) -> None:
        self._paths = paths
        self._veil = Veil()
        self._failed: set[Path] = set()

    def attach(self, bus: EventBus) -> None:
        """Begin to listen to a bus."""
        bus.register_handler(TaskStartedEvent, self.started, alone=True)
        bus.register_handler(TaskCompletedEvent, self.completed, alone=True)

    def detach(self, bus: EventBus) -> None:
        """Listen no longer."""
        bus.off(TaskStartedEvent, self.started)
        bus.off(TaskCompletedEvent, self.completed)

    def started(self, source: object, event: TaskStartedEvent) -> None:
        """Write that a task begins."""
        self._write(event, task=event.description or event.task.description, agent=event.agent_role, status="started")

    def completed(self, source: object, event: TaskCompletedEvent) -> None:
        """Write that a task is done, and what it gave."""
        done = event.output
        self._write(event, task=done.description, agent=done.agent, status="completed", output=done.raw)

    def _write(self, event: BaseEvent, **told: str | None) -> None:
        entry = {
            "timestamp": event.timestamp.astimezone().strftime("%Y-%m-%d %H:%M:%S"),
            "task_name": getattr(getattr(event, "task", None), "name", None),
            **{name: value and self._veil.over(value) for name, value in told.items()},
        }
        for path in self._paths(event):
            try:
                add_entry(path, entry)
            except (OSError, ValueError) as error:
                if path not in self._failed:
                    self._failed.add(path)
                    _log.warning("the log of the run could not be written to `%s`, the run goes on: %s", path, error)


def add_entry(path: Path, entry: Mapping[str, object]) -> None:
    """Add an entry to a file: an object to the list of a .json file, a line to any other; folders are made.

    Args:
        path: the file.
        entry: what it tells, "timestamp" among it.

    Raises:
        OSError: it cannot be written.
        ValueError: it is a .json file that holds something else than a list of objects.
    """
    with _writing:
        (_add_object if path.suffix == ".json" else _add_line)(path, entry)


def _add_line(path: Path, entry: Mapping[str, object]) -> None:
    told = ", ".join(f'{name}="{value}"' for name, value in entry.items() if name != "timestamp")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        _locked(file.fileno())
        file.write(f"{entry['timestamp']}: {told}\n".encode())


def _add_object(path: Path, entry: Mapping[str, object]) -> None:
    """Put an object behind the last one of a list; only the end of the file is read and written.

    Raises:
        ValueError: the file holds something else than a list.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(f"    {line}" for line in json.dumps(entry, indent=4, ensure_ascii=False).splitlines())
    with os.fdopen(os.open(path, _FLAGS, 0o666), "r+b", buffering=0) as file:
        _locked(file.fileno())
        size = file.seek(0, os.SEEK_END)
        start = file.seek(max(0, size - _TAIL))
        tail = file.read().rstrip()
        if not tail:
            file.seek(0)
            file.write(f"[\n{text}\n]".encode())
            return
        inner = tail[:-1].rstrip()
        if not tail.endswith(b"]") or not inner.endswith((b"}", b"[")):
            raise ValueError("it is there already, and no list of objects")
        file.seek(start + len(inner))
        file.write(f"{',' if inner.endswith(b'}') else ''}\n{text}\n]".encode())
        file.truncate()


def _locked(file: int) -> None:
    """Keep other processes out until the file is closed."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX)
