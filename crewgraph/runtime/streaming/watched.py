"""Streamed runs: the run advances while the caller takes its items, chunks or frames.

An `Audience` receives the events of a run and makes items of them; `WatchedRun` runs the program in between.
"""

import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator
from contextlib import aclosing, closing, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from langgraph.config import get_stream_writer

from crewgraph.core.cancellation import RunAbandoned, check_cancelled
from crewgraph.core.current import CURRENT
from crewgraph.core.operations import Operation, Program
from crewgraph.definitions.chunks import StreamChunk, StreamChunkType, StreamingOutputBase, ToolCallChunk
from crewgraph.definitions.stream import (
    Custom,
    Finished,
    FlowFinished,
    FlowPaused,
    StreamItem,
    TaskItem,
    Token,
    ToolCallToken,
)
from crewgraph.events.base import BaseEvent
from crewgraph.events.frames import Ended
from crewgraph.events.lineage import LINEAGE, Lineage
from crewgraph.events.llm import LLMStreamChunkEvent, LLMThinkingChunkEvent
from crewgraph.events.stream_context import LISTENING, Listening
from crewgraph.runtime.execution import Run, explain
from crewgraph.runtime.streaming.items import ItemFields
from crewgraph.scoped import give_back
from crewgraph.tracebacks import shortened

OutputT = TypeVar("OutputT", bound=StreamingOutputBase[Any])
ChunkT = TypeVar("ChunkT")


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
        # Of the run: a reader that continues it may be inside another one.
        self._left: tuple[Lineage, Listening] | None = None
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
        current = CURRENT.get()
        if self._left is None:
            here = LISTENING.get()
            self._left = LINEAGE.get(), here._replace(sinks=(*here.sinks, self._on_event))
            self._around = current.abandoned
        lineage, heard = self._left
        tokens = (
            LINEAGE.set(lineage),
            LISTENING.set(heard),
            CURRENT.set(current._replace(abandoned=self._is_abandoned)),
        )
        try:
            yield
        finally:
            self._left = LINEAGE.get(), LISTENING.get()
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


class WatchedRun:
    """A run that advances while its items are taken.

    Args:
        program: the run; it starts when the first item is taken.
        audience: converts its events to items.
    """

    def __init__(self, program: Program[object], audience: Audience) -> None:
        self._program, self._audience = program, audience

    def items(self) -> Generator[Any]:
        """Run the program and yield its items."""
        driver = _ProgramDriver(self._program, self._audience)
        audience = self._audience
        with shortened():
            try:
                while (operation := driver.next()) is not None:
                    yield from audience.drain()
                    if not isinstance(operation, Run):
                        with driver.catching(), audience.listening():
                            driver.reply = operation.run()
                        continue
                    with driver.catching(operation), closing(operation.parts(audience)) as parts:
                        for part in parts:
                            yield from audience.read(part)
                yield from driver.end()
            except GeneratorExit:
                for operation in driver.abandon():
                    with driver.catching(), audience.listening():
                        driver.reply = operation.run()
                raise
            except BaseException as error:
                explain(error)
                raise

    async def aitems(self) -> AsyncGenerator[Any]:
        """Run the program on this event loop and yield its items."""
        driver = _ProgramDriver(self._program, self._audience)
        audience = self._audience
        with shortened():
            try:
                while (operation := driver.next()) is not None:
                    for item in audience.drain():
                        yield item
                    if not isinstance(operation, Run):
                        with driver.catching(), audience.listening():
                            driver.reply = await operation.arun()
                        continue
                    with driver.catching(operation):
                        async with aclosing(operation.aparts(audience)) as parts:
                            async for part in parts:
                                for item in audience.read(part):
                                    yield item
                for item in driver.end():
                    yield item
            except GeneratorExit:
                for operation in driver.abandon():
                    with driver.catching(), audience.listening():
                        driver.reply = await operation.arun()
                raise
            except BaseException as error:
                explain(error)
                raise

    def chunks(self, output: type[OutputT]) -> OutputT:
        """Return the run in CrewAI's form: chunks of answers, then the result."""
        return output(sync_iterator=_flat_map(self.items(), self._chunk))

    def achunks(self, output: type[OutputT]) -> OutputT:
        """Return the run in CrewAI's form, for async iteration."""
        return output(async_iterator=_aflat_map(self.aitems(), self._chunk))

    def _chunk(self, item: StreamItem) -> Iterable[StreamChunk | Ended]:
        """Return the chunk for an item, or the result; empty for other items."""
        match item:
            case Token():
                return (StreamChunk(content=item.text, **self._audience.chunk_fields(item)),)
            case ToolCallToken():
                call = ToolCallChunk(tool_id=item.id, tool_name=item.tool, arguments=item.arguments, index=item.index)
                fields = self._audience.chunk_fields(item)
                return (StreamChunk(content=item.text, chunk_type=StreamChunkType.TOOL_CALL, tool_call=call, **fields),)
            case Finished():
                return (Ended(item.output),)
            case FlowFinished():
                return (Ended(item.result),)
            case FlowPaused():
                return (Ended(item.pending),)
            case _:
                return ()


def _flat_map(items: Generator[object], transform: Callable[[Any], Iterable[ChunkT]]) -> Generator[ChunkT]:
    with shortened(), closing(items):
        for item in items:
            yield from transform(item)


async def _aflat_map(
    items: AsyncGenerator[object], transform: Callable[[Any], Iterable[ChunkT]]
) -> AsyncGenerator[ChunkT]:
    with shortened():
        async with aclosing(items):
            async for item in items:
                for chunk in transform(item):
                    yield chunk


class _ProgramDriver:
    """Advances a program from one operation to the next; the caller performs the operations."""

    def __init__(self, program: Program[object], audience: Audience) -> None:
        self._program, self._audience = program, audience
        self._step: Any = program.send
        self._returned: object = None
        self._failure: BaseException | None = None
        self.reply: object = None
        """The result of the latest operation."""

    def next(self) -> Operation | None:
        """Return the next operation; None if the program has ended."""
        try:
            with self._audience.listening():
                operation = self._step(self.reply)
        except StopIteration as stop:
            self._returned = stop.value
            return None
        except BaseException as error:  # noqa: BLE001 - raised by `end`, after all items
            self._failure = error
            return None
        self._step, self.reply = self._program.send, None
        return operation

    @contextmanager
    def catching(self, reply: object = None) -> Generator[None]:
        """Throw an exception of the block into the program at the next step.

        Args:
            reply: the result of the operation if the block does not set another.
        """
        self.reply = reply
        try:
            yield
        except GeneratorExit:
            raise
        except BaseException as error:  # noqa: BLE001 - thrown into the program, which handles it
            self._step, self.reply = self._program.throw, error

    def end(self) -> Iterator[Any]:
        """Yield the last items, or raise the program's exception after the remaining ones."""
        yield from self._audience.drain()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        yield self._audience.final_item(self._returned)

    def abandon(self) -> Iterator[Operation]:
        """Stop the program where it is, and yield the operations of its cleanup."""
        self._audience.leave()
        self._step, self.reply = self._program.throw, RunAbandoned()
        while (operation := self.next()) is not None:
            yield operation
        if self._failure is not None and not isinstance(self._failure, RunAbandoned):
            raise self._failure
