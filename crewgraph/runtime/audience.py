"""Who watches one run through `crew.stream`: takes its events, and hands them over as items, in order."""

from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from langgraph.config import get_stream_writer

from crewgraph.compiler.assignment import Assignment
from crewgraph.definitions.stream import Custom, Started, StreamItem
from crewgraph.events.base import BaseEvent
from crewgraph.events.stream_context import SINKS
from crewgraph.runtime.items import Shown, item_of, task_of
from crewgraph.text import fill

__all__ = ["Audience", "StreamLeft"]

_NEWS = object()


class StreamLeft(BaseException):
    """Raised inside of a run that nobody watches any more, so that it stops where it is; no `except Exception` holds it."""

    def __init__(self) -> None:
        super().__init__("whoever watched the run went away before its end")


class Audience:
    """Takes what a run tells, on any of its threads, and gives it to the one who watches.

    Items lie in a queue of our own. LangGraph's custom stream, which is what a watcher waits at, only says that there are
    some: what a run tells outside of its nodes, or in a nested run, is kept in order with the rest.
    """

    def __init__(self) -> None:
        self._items: deque[StreamItem] = deque()
        self._shown: dict[int, Shown] = {}
        self._called = False  # whether the reader has been called and has not looked yet
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
        self._items.append(Started(crew=crew, thread_id=thread_id, inputs=dict(inputs)))

    def leave(self) -> None:
        """Nobody watches any more: the run stops at the next thing it tells."""
        self._left = True

    @contextmanager
    def listening(self) -> Generator[None]:
        """Hear what the code of a block tells, and what is begun in it; nothing of whoever is around the block."""
        before = SINKS.get()
        SINKS.set((*before, self._hear))
        try:
            yield
        finally:
            SINKS.set(before)

    def told(self) -> Iterator[StreamItem]:
        """What was told since the last time."""
        self._called = False
        while self._items:
            yield self._items.popleft()

    def written(self, data: Any) -> Iterator[StreamItem]:
        """What was told, and what a node wrote to LangGraph's custom stream."""
        yield from self.told()
        if data is not _NEWS:
            yield Custom(data=data)

    def _hear(self, source: Any, event: BaseEvent) -> None:
        if self._left:
            raise StreamLeft
        shown = self._shown.get(id(task_of(event)))
        if shown is None:  # of a crew that a tool of ours has started
            return
        item = item_of(event, shown)
        if item is None:
            return
        self._items.append(item)
        if not self._called:
            self._called = _reader_called()


def _reader_called() -> bool:
    try:
        get_stream_writer()(_NEWS)
    except (RuntimeError, KeyError):  # outside of the nodes nobody waits there
        return False
    return True
