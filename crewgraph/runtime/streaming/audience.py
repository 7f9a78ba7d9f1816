"""Who watches one run: takes its events, and hands them over as items, in order."""

import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from langgraph.config import get_stream_writer

from crewgraph.core.cancellation import ABANDONED, check_cancelled
from crewgraph.definitions.stream import Custom, StreamItem, TaskItem
from crewgraph.events.base import BaseEvent
from crewgraph.events.lineage import Standing
from crewgraph.events.llm import LLMStreamChunkEvent
from crewgraph.events.stream_context import SINKS, WITNESSES, Witness

__all__ = ["Audience"]


@dataclass(frozen=True)
class _Call:
    """Calls the reader to take items."""

    audience: "Audience"
    """Whose."""

    items: int
    """How many were told in all."""


class Audience(ABC):
    """Takes what a run tells, on any of its threads, and gives it to the one who watches.

    Items lie in a queue of our own. LangGraph's custom stream, which is what a watcher waits at, only says how many there
    are: so what a run tells where that stream cannot be reached comes in its place, too.
    """

    def __init__(self) -> None:
        self._items: deque[StreamItem] = deque()
        self._taken = 0
        self._lock = threading.Lock()
        self._left = False
        self._standing = Standing()
        self._witnesses: tuple[Witness, ...] | None = None

    @abstractmethod
    def item(self, source: object, event: BaseEvent) -> StreamItem | None:
        """What is told for an event; None where nothing is."""

    @abstractmethod
    def last(self, ended: Any) -> StreamItem:
        """What is told at the end of a run that gave this."""

    def about(self, item: TaskItem) -> Mapping[str, Any]:
        """Whose item it is, by the names of a chunk's fields."""
        return {}

    def leave(self) -> None:
        """Nobody watches any more: the run stops before its next effect, and in the middle of an answer that comes in pieces."""
        self._left = True

    @contextmanager
    def listening(self) -> Generator[None]:
        """Hear what the code of a block tells, and what is begun in it; nothing of whoever is around the block."""
        before, left, witnesses = SINKS.get(), ABANDONED.get(), WITNESSES.get()
        WITNESSES.set(witnesses if self._witnesses is None else self._witnesses)
        SINKS.set((*before, self._hear))
        ABANDONED.set(lambda: self._left or (left is not None and left()))
        try:
            with self._standing.taken_up():
                yield
        finally:
            SINKS.set(before)
            ABANDONED.set(left)
            self._witnesses = WITNESSES.get()
            WITNESSES.set(witnesses)

    def told(self) -> Iterator[StreamItem]:
        """What was told since the last time."""
        while self._items:
            yield self._next()

    def concerns(self, data: object) -> bool:
        """Whether something in LangGraph's custom stream is for this reader; a stream within a stream carries calls of both."""
        return not isinstance(data, _Call) or data.audience is self

    def written(self, data: object) -> Iterator[StreamItem]:
        """What was told before something was written to LangGraph's custom stream, and that, if it was not our call."""
        if not isinstance(data, _Call):
            yield Custom(data=data)
            return
        while self._taken < data.items:
            yield self._next()

    def _next(self) -> StreamItem:
        with self._lock:
            self._taken += 1
            return self._items.popleft()

    def add(self, item: StreamItem) -> int:
        """Tell; how much was told so far."""
        with self._lock:
            self._items.append(item)
            return self._taken + len(self._items)

    def _hear(self, source: object, event: BaseEvent) -> None:
        if isinstance(event, LLMStreamChunkEvent):
            check_cancelled()
        item = self.item(source, event)
        if item is None:
            return
        call = _Call(self, self.add(item))
        try:
            get_stream_writer()(call)
        except (RuntimeError, KeyError):  # outside of the nodes, nobody waits there
            return
