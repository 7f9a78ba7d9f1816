"""Who watches one run through `crew.stream`: takes its events, and hands them over as items, in order."""

import threading
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from langgraph.config import get_stream_writer

from crewgraph.compiler.assignment import Assignment
from crewgraph.core.leaving import LEFT, heed
from crewgraph.definitions.stream import Custom, Started, StreamItem
from crewgraph.events.base import BaseEvent
from crewgraph.events.llm import LLMStreamChunkEvent
from crewgraph.events.stream_context import SINKS
from crewgraph.runtime.items import Shown, item_of, task_of
from crewgraph.text import fill

__all__ = ["Audience"]


@dataclass(frozen=True)
class _Call:
    """Calls the reader to take items."""

    items: int
    """How many were told in all."""


class Audience:
    """Takes what a run tells, on any of its threads, and gives it to the one who watches.

    Items lie in a queue of our own. LangGraph's custom stream, which is what a watcher waits at, only says how many there
    are: so what a run tells where that stream cannot be reached comes in its place, too.
    """

    def __init__(self) -> None:
        self._items: deque[StreamItem] = deque()
        self._taken = 0
        self._lock = threading.Lock()
        self._shown: dict[int, Shown] = {}
        self._left = False

    def begins(
        self, crew: str | None, thread_id: str | None, inputs: Mapping[str, Any], tasks: Sequence[Assignment]
    ) -> None:
        """The run begins: what it is kept under, and the tasks that are spoken of."""

        def filled(template: str | None) -> str:
            return fill(template or "", inputs, where="a text") if inputs else template or ""

        self._shown = {
            id(one.task): Shown(n, one.slug, filled(one.agent.role), filled(one.task.template("description")))
            for n, one in enumerate(tasks)
        }
        self._add(Started(crew=crew, thread_id=thread_id, inputs=dict(inputs)))

    def leave(self) -> None:
        """Nobody watches any more: the run stops before its next effect, and in the middle of an answer that comes in pieces."""
        self._left = True

    @contextmanager
    def listening(self) -> Generator[None]:
        """Hear what the code of a block tells, and what is begun in it; nothing of whoever is around the block."""
        before, left = SINKS.get(), LEFT.get()
        SINKS.set((*before, self._hear))
        LEFT.set(lambda: self._left or (left is not None and left()))
        try:
            yield
        finally:
            SINKS.set(before)
            LEFT.set(left)

    def told(self) -> Iterator[StreamItem]:
        """What was told since the last time."""
        while self._items:
            yield self._next()

    def written(self, data: Any) -> Iterator[StreamItem]:
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

    def _add(self, item: StreamItem) -> int:
        with self._lock:
            self._items.append(item)
            return self._taken + len(self._items)

    def _hear(self, source: Any, event: BaseEvent) -> None:
        if isinstance(event, LLMStreamChunkEvent):
            heed()
        shown = self._shown.get(id(task_of(event)))
        if shown is None:  # of a crew that a tool of ours has started
            return
        item = item_of(event, shown)
        if item is None:
            return
        call = _Call(self._add(item))
        try:
            get_stream_writer()(call)
        except (RuntimeError, KeyError):  # outside of the nodes, nobody waits there
            return
