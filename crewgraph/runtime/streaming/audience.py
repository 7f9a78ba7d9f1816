"""The receiver of one streamed run: converts its events to items, in order."""

import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from langgraph.config import get_stream_writer

from crewgraph.core.cancellation import ABANDONED, check_cancelled
from crewgraph.definitions.stream import Custom, StreamItem, TaskItem
from crewgraph.events.base import BaseEvent
from crewgraph.events.lineage import SuspendedLineage
from crewgraph.events.llm import LLMStreamChunkEvent, LLMThinkingChunkEvent
from crewgraph.events.stream_context import CONTEXT_LISTENERS, SINKS, ContextListener, StreamSink
from crewgraph.runtime.streaming.items import ItemFields
from crewgraph.scoped import give_back

__all__ = ["Audience"]


@dataclass(frozen=True)
class _Wakeup:
    """Wakes the reader of the custom stream to take items from the queue."""

    audience: "Audience"

    count: int
    """The number of items added so far, including those already taken."""


class Audience(ABC):
    """Collects the events of a run, on any of its threads, as items for the caller.

    The items are in a queue of this class; LangGraph's custom stream, which the caller waits on, only carries their number. So
    items from code without access to that stream keep their place in the order.
    """

    def __init__(self) -> None:
        self._items: deque[StreamItem] = deque()
        self._taken = 0
        self._lock = threading.Lock()
        self._abandoned = False
        self._lineage = SuspendedLineage()
        # Of the code that started the run: a reader that continues it may be inside another run.
        self._listeners: tuple[ContextListener, ...] | None = None
        self._sinks: tuple[StreamSink, ...] = ()
        self._around: Callable[[], bool] | None = None

    @abstractmethod
    def item(self, source: object, event: BaseEvent) -> StreamItem | None:
        """Return the item for an event; None for events that are not streamed."""

    @abstractmethod
    def final_item(self, result: object) -> StreamItem:
        """Return the last item of a run with this result."""

    def chunk_fields(self, item: TaskItem) -> ItemFields:
        """Return the fields of a chunk that describe the task of an item."""
        return {}

    def leave(self) -> None:
        """Abandon the run: it stops before its next effect, or in the middle of a streamed answer."""
        self._abandoned = True

    @contextmanager
    def listening(self) -> Generator[None]:
        """Receive the events of the code in the block, and of what it starts."""
        if self._listeners is None:
            self._listeners, self._sinks, self._around = (
                CONTEXT_LISTENERS.get(),
                (*SINKS.get(), self._on_event),
                ABANDONED.get(),
            )
        tokens = CONTEXT_LISTENERS.set(self._listeners), SINKS.set(self._sinks), ABANDONED.set(self._is_abandoned)
        try:
            with self._lineage.resumed():
                yield
        finally:
            self._listeners = CONTEXT_LISTENERS.get()
            give_back(*tokens)

    def _is_abandoned(self) -> bool:
        return self._abandoned or (self._around is not None and self._around())

    def drain(self) -> Iterator[StreamItem]:
        """Take the items in the queue."""
        while self._items:
            yield self._next()

    def accepts(self, data: object) -> bool:
        """Return whether data in LangGraph's custom stream is for this reader; nested streams carry the wakeups of both."""
        return not isinstance(data, _Wakeup) or data.audience is self

    def read(self, data: object) -> Iterator[StreamItem]:
        """Yield the items added before `data` was written to LangGraph's custom stream, or `data` itself if a user wrote it."""
        if not isinstance(data, _Wakeup):
            yield Custom(data=data)
            return
        while self._taken < data.count:
            yield self._next()

    def _next(self) -> StreamItem:
        with self._lock:
            self._taken += 1
            return self._items.popleft()

    def add(self, item: StreamItem) -> int:
        """Add an item, and return the number added so far."""
        with self._lock:
            self._items.append(item)
            return self._taken + len(self._items)

    def _on_event(self, source: object, event: BaseEvent) -> None:
        if isinstance(event, LLMStreamChunkEvent | LLMThinkingChunkEvent):
            check_cancelled()
        item = self.item(source, event)
        if item is None:
            return
        wakeup = _Wakeup(self, self.add(item))
        try:
            get_stream_writer()(wakeup)
        except (RuntimeError, KeyError):  # outside of nodes there is no stream to wake
            return
