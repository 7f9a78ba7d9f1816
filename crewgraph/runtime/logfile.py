"""Writing runs into the files that their crews name, while they last."""

import threading
from collections import Counter
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from crewgraph.definitions.crew.crew import Crew
from crewgraph.events.bus import crewai_event_bus
from crewgraph.observe.logfile import LogFileListener, log_path

__all__ = ["crew_log"]


class _Logs:
    """One listener for all runs: a crew that is kicked off twice at once has each entry once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: Counter[tuple[int, Path]] = Counter()
        self._listener: LogFileListener | None = None

    def begin(self, tasks: set[tuple[int, Path]]) -> None:
        with self._lock:
            self._open.update(tasks)
            if self._listener is None:
                self._listener = LogFileListener(self._paths)
                self._listener.attach(crewai_event_bus)

    def end(self, tasks: set[tuple[int, Path]]) -> None:
        with self._lock:
            self._open -= Counter(tasks)
            if not self._open and self._listener is not None:
                self._listener.detach(crewai_event_bus)
                self._listener = None

    def _paths(self, event: Any) -> list[Path]:
        with self._lock:
            return [path for task, path in self._open if task == id(event.task)]


_logs = _Logs()


def crew_log(crew: Crew) -> AbstractContextManager[None] | None:
    """What writes the starts and completions of the crew's tasks into its `output_log_file`, if it has one."""
    if not crew.output_log_file:
        return None
    path = log_path(crew.output_log_file)
    return _writing({(id(task), path) for task in crew.tasks})


@contextmanager
def _writing(tasks: set[tuple[int, Path]]) -> Generator[None]:
    _logs.begin(tasks)
    try:
        yield
    finally:
        _logs.end(tasks)
