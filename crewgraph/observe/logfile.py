"""The log file of a run, as set by `output_log_file`."""

import itertools
import json
import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from io import FileIO
from pathlib import Path

from crewgraph.core.loops.bridge import off_loop
from crewgraph.disk import PRIVATE, absolute_path, private_file, replace_file
from crewgraph.events import BaseEvent, EventBus, TaskCompletedEvent, TaskStartedEvent
from crewgraph.redaction import SecretRedactor, redacted_logger
from crewgraph.schema import is_list, is_object
from crewgraph.text import json_text

try:
    import fcntl
except ImportError:  # Windows: processes should log to separate files there
    fcntl = None

_log = redacted_logger("crewgraph")
_write_lock = threading.Lock()

_DEFAULT_NAME = "logs.txt"
_END = b"\n    }\n]"  # of a list that this module wrote; line breaks in its texts are escaped
_BETWEEN = re.compile(r"[\s,]*")  # what is between two entries of a list


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
    """Append an entry to a log file, whole or not at all: an object to the list of a .json file, a line to any other.

    A .json file that is cut off, by a full disk or a crash, is repaired with a warning.

    Args:
        path: The file; missing directories are created.
        entry: The fields of the entry, including "timestamp".

    Raises:
        OSError: The file cannot be written; it is unchanged.
        ValueError: The file is a .json file that does not hold a list of objects.
    """
    with _write_lock:
        private_file(path)
        with path.open("r+b", buffering=0) as file:
            _lock_file(file.fileno())
            if path.suffix == ".json":
                _add_object(file, path, entry)
            else:
                _add_line(file, entry)


def _add_line(file: FileIO, entry: Mapping[str, object]) -> None:
    fields = ", ".join(f"{name}={json_text(str(value))}" for name, value in entry.items() if name != "timestamp")
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 1))
    start = "" if file.read() in (b"", b"\n") else "\n"  # a crash may have cut off the last line
    _replace_end(file, size, f"{start}{entry['timestamp']}: {fields}\n".encode())


def _add_object(file: FileIO, path: Path, entry: Mapping[str, object]) -> None:
    """Append an object to a JSON list, of which it reads only the end if that is as this function writes it.

    Raises:
        ValueError: The file holds other JSON.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - len(_END)))
    end, start = (size - len("\n]"), ",") if file.read() == _END else _end_of_list(file, path)
    text = "\n".join(f"    {line}" for line in json_text(entry, 4).splitlines())
    _replace_end(file, end, f"{start}\n{text}\n]".encode())


def _end_of_list(file: FileIO, path: Path) -> tuple[int, str]:
    """Return where the entries of a JSON list end, and what goes before the next one. Of a damaged list, a copy is kept.

    Raises:
        ValueError: The file holds other JSON.
    """
    file.seek(0)
    data = file.read()
    text = data.decode("latin-1")  # a character for each byte
    if not text.strip("\0 \t\r\n"):  # empty, or what a power cut leaves of it
        return 0, "["
    entries = _parsed(text)
    if is_list(entries) and all(map(is_object, entries)):
        return len(text.rstrip()[:-1].rstrip()), "," if entries else ""
    if entries is not None or not text.lstrip().startswith("["):
        raise ValueError("the file exists and does not contain a list of objects")
    end, count = text.index("[") + 1, 0
    with suppress(ValueError):  # of the first entry that is not complete
        while (between := _BETWEEN.match(text, end)) is not None:
            end, count = json.JSONDecoder().raw_decode(text, between.end())[1], count + 1
    copies = (path.with_name(f"{path.name}.damaged{number or ''}") for number in itertools.count())
    copy = next(copy for copy in copies if not copy.exists())
    replace_file(copy, data, mode=PRIVATE)
    _log.warning(
        "The log file `%s` was damaged, as by a full disk or a crash: its %d complete entries stay, and `%s` is a copy of it",
        *(path, count, copy),
    )
    return end, "," if count else ""


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _replace_end(file: FileIO, at: int, data: bytes) -> None:
    """Replace all that follows a position; after an error, such as a full disk, the file is as it was."""
    file.seek(at)
    before = file.read()
    try:
        _write_all(file, at, data)
    except BaseException:  # also Ctrl-C
        _write_all(file, at, before)  # into blocks that the file has
        raise


def _write_all(file: FileIO, at: int, data: bytes) -> None:
    file.seek(at)
    while data:
        data = data[file.write(data) :]
    file.truncate()


def _lock_file(descriptor: int) -> None:
    """Lock out other processes until the file is closed."""
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
