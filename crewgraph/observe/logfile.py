"""The log file of a run, as set by `output_log_file`."""

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from crewgraph.core.loops.bridge import off_loop
from crewgraph.disk import absolute_path, private_file
from crewgraph.events import BaseEvent, EventBus, TaskCompletedEvent, TaskStartedEvent
from crewgraph.redaction import SecretRedactor, redacted_logger
from crewgraph.text import json_text

__all__ = ["LogFileListener", "add_entry", "log_path"]


try:
    import fcntl
except ImportError:  # Windows: processes should log to separate files there
    fcntl = None

_log = redacted_logger("crewgraph")
_write_lock = threading.Lock()

_DEFAULT_NAME = "logs.txt"
_TAIL_SIZE = 64


def log_path(output_log_file: bool | str) -> Path:
    """Return the path for a value of `output_log_file`: `logs.txt` for True; `.txt` is added if it is neither .txt nor .json."""
    name = _DEFAULT_NAME if output_log_file is True else str(output_log_file)
    path = Path(name if name.endswith((".txt", ".json")) else f"{name}.txt")
    return path if path.is_absolute() else Path(off_loop(absolute_path, "."), path)


class LogFileListener:
    """Writes the start and the completion of each task to log files.

    A .json file is a list of objects, and valid JSON after each entry; other files have one line for each entry, with line
    breaks, quotes and control characters in its texts escaped. Only their owner can read files and folders that are created.
    Values of environment variables that hold secrets are redacted. If a file cannot be written, a warning is logged once and
    the run continues.

    Args:
        paths: Returns the files to which an event is written.
    """

    def __init__(self, paths: Callable[[BaseEvent], Iterable[Path]]) -> None:
        self._paths = paths
        self._redactor = SecretRedactor()
        self._failed: set[Path] = set()

    def attach(self, bus: EventBus) -> None:
        """Start listening to a bus."""
        bus.register_handler(TaskStartedEvent, self.started, alone=True)
        bus.register_handler(TaskCompletedEvent, self.completed, alone=True)

    def detach(self, bus: EventBus) -> None:
        """Stop listening to a bus."""
        bus.off(TaskStartedEvent, self.started)
        bus.off(TaskCompletedEvent, self.completed)

    def started(self, source: object, event: TaskStartedEvent) -> None:
        """Write an entry for the start of a task."""
        self._write(event, task=event.description or event.task.description, agent=event.agent_role, status="started")

    def completed(self, source: object, event: TaskCompletedEvent) -> None:
        """Write an entry for the completion of a task, with its output."""
        output = event.output
        self._write(event, task=output.description, agent=output.agent, status="completed", output=output.raw)

    def _write(self, event: BaseEvent, **fields: str | None) -> None:
        entry = {
            "timestamp": event.timestamp.astimezone().strftime("%Y-%m-%d %H:%M:%S"),
            "task_name": getattr(getattr(event, "task", None), "name", None),
            **{name: value and self._redactor.redact(value) for name, value in fields.items()},
        }
        for path in self._paths(event):
            try:
                off_loop(add_entry, path, entry)
            except (OSError, ValueError) as error:
                if path not in self._failed:
                    self._failed.add(path)
                    _log.warning("Could not write to the log file `%s`; the run continues: %s", path, error)


def add_entry(path: Path, entry: Mapping[str, object]) -> None:
    """Append an entry to a log file: an object to the list of a .json file, a line to any other.

    Args:
        path: The file; missing directories are created.
        entry: The fields of the entry, including "timestamp".

    Raises:
        OSError: The file cannot be written.
        ValueError: The file is a .json file that does not hold a list of objects.
    """
    with _write_lock:
        (_add_object if path.suffix == ".json" else _add_line)(path, entry)


def _add_line(path: Path, entry: Mapping[str, object]) -> None:
    fields = ", ".join(f"{name}={json_text(str(value))}" for name, value in entry.items() if name != "timestamp")
    private_file(path)
    with path.open("ab") as file:
        _lock_file(file.fileno())
        file.write(f"{entry['timestamp']}: {fields}\n".encode())


def _add_object(path: Path, entry: Mapping[str, object]) -> None:
    """Append an object to a JSON list by reading and writing only the end of the file.

    Raises:
        ValueError: The file does not hold a list of objects.
    """
    private_file(path)
    text = "\n".join(f"    {line}" for line in json_text(entry, 4).splitlines())
    with path.open("r+b", buffering=0) as file:
        _lock_file(file.fileno())
        size = file.seek(0, os.SEEK_END)
        tail_start = file.seek(max(0, size - _TAIL_SIZE))
        tail = file.read().rstrip()
        if not tail:
            file.seek(0)
            file.write(f"[\n{text}\n]".encode())
            return
        body = tail[:-1].rstrip()
        if not tail.endswith(b"]") or not body.endswith((b"}", b"[")):
            raise ValueError("the file exists and does not contain a list of objects")
        file.seek(tail_start + len(body))
        file.write(f"{',' if body.endswith(b'}') else ''}\n{text}\n]".encode())
        file.truncate()


def _lock_file(descriptor: int) -> None:
    """Lock out other processes until the file is closed."""
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
