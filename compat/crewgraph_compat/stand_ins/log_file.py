"""Entries that a program puts into a log file by itself."""

import os
from datetime import datetime
from typing import Any, TypedDict, Unpack

from crewgraph.observe.logfile import add_entry, log_path

__all__ = ["FileHandler", "LogEntry"]


class LogEntry(TypedDict, total=False):
    """What an entry may tell."""

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
