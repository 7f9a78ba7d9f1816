"""Checkpoints of a run, made while it goes on, for those who take it up in another process."""

import logging
import os
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from crewgraph.definitions.checkpoint_config import CheckpointConfig
from crewgraph.definitions.runtime_state import RuntimeState
from crewgraph.errors import StorageError
from crewgraph.events.base import BaseEvent
from crewgraph.events.bus import RUNTIME_STATE, crewai_event_bus
from crewgraph.events.checkpoint import CheckpointPrunedEvent
from crewgraph.events.lineage import ENDS, STARTS
from crewgraph.events.llm import LLMStreamChunkEvent
from crewgraph.events.stream_context import WITNESSES
from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer

__all__ = ["SnapshotTaker", "database_of", "saver_at", "saver_in", "taking"]

_log = logging.getLogger("crewgraph")
_lock = threading.Lock()
_opened: dict[Path, SqliteCheckpointer] = {}


def saver_in(config: CheckpointConfig) -> SqliteCheckpointer:
    """The database beside the checkpoints of a place, opened once in a process.

    Raises:
        StorageError: it cannot be opened.
    """
    return saver_at(config.runs)


def saver_at(file: Path) -> SqliteCheckpointer:
    """A database, opened once in a process.

    Raises:
        StorageError: it cannot be opened.
    """
    path = file.resolve()
    with _lock:
        if path not in _opened:
            _opened[path] = SqliteCheckpointer(path)
        return _opened[path]


def database_of(saver: Any) -> str | None:
    """The file of a database; None for what is none of a file."""
    return str(saver.path) if isinstance(saver, SqliteCheckpointer) and saver.path is not None else None


class SnapshotTaker:
    """Makes a checkpoint for each event that a config names.

    Args:
        config: which, and where.
        entity: of what.
        point: which run that is and how far; asked each time.
        concerns: whether an event counts.
        followed: the branch, and the checkpoint before the first one.
    """

    def __init__(
        self,
        config: CheckpointConfig,
        entity: Any,
        point: Callable[[], dict[str, Any]],
        concerns: Callable[[Any, BaseEvent], bool],
        followed: tuple[str, str | None],
    ) -> None:
        self._config, self._point, self._concerns = config, point, concerns
        self._state = RuntimeState([entity])
        self._state.provider = config.provider
        self._state.follow(*followed)
        self._lock = threading.RLock()

    @property
    def state(self) -> RuntimeState:
        """What is at work, with the events so far."""
        return self._state

    def wants(self, event_type: type[BaseEvent], /) -> bool:
        """See `Witness`."""
        kind: object = event_type.model_fields["type"].default
        if kind in self._config.trigger_events or kind in STARTS or kind in ENDS:
            return True
        return self._config.trigger_all and not issubclass(event_type, LLMStreamChunkEvent) and not _is_own(str(kind))

    def hear(self, source: Any, event: BaseEvent, /) -> None:
        """See `Witness`."""
        if _is_own(event.type):
            return
        with self._lock:
            self._state.event_record.add(event)
            triggered = self._config.trigger_all or event.type in self._config.trigger_events
            if triggered and self._concerns(source, event):
                self._take(event.type)

    def begin(self) -> None:
        """Note that the run has begun: one that is stopped before its first checkpoint is taken up, too."""
        path = self._config.begun
        data = self._state.noted([self._point()]).model_dump_json()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        written = path.with_suffix(".tmp")
        with open(os.open(written, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(data)
        written.replace(path)

    def _take(self, trigger: str) -> None:
        try:
            self._state.noted([self._point()], trigger).checkpoint(self._config.location)
        except StorageError as error:
            _log.warning("%s; the run goes on", error)  # it is kept in its database
            return
        most, branch = self._config.max_checkpoints, self._state.branch
        if most is None or most < 1:
            return
        removed = self._config.provider.prune(self._config.location, most, branch=branch)
        if removed:
            told = CheckpointPrunedEvent(
                location=self._config.location,
                provider=type(self._config.provider).__name__,
                trigger=trigger,
                branch=branch,
                parent_id=self._state.parent_id,
                removed_count=removed,
                max_checkpoints=most,
            )
            crewai_event_bus.emit(self._config, told)


def _is_own(kind: str) -> bool:
    return kind.startswith("checkpoint_")


@contextmanager
def taking(takers: Sequence[SnapshotTaker]) -> Generator[None]:
    """A block whose events these hear."""
    before, state = WITNESSES.get(), RUNTIME_STATE.get()
    if takers:
        WITNESSES.set((*before, *takers))
        RUNTIME_STATE.set(takers[0].state)
    try:
        yield
    finally:
        WITNESSES.set(before)
        RUNTIME_STATE.set(state)
