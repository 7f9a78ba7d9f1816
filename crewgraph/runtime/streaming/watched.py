"""Streamed runs: the run advances while the caller takes its items, chunks or frames."""

from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator
from contextlib import aclosing, closing, contextmanager
from typing import Any, TypeVar

from crewgraph.core.cancellation import RunAbandoned
from crewgraph.core.operations import Operation, Program
from crewgraph.definitions.chunks import StreamChunk, StreamChunkType, StreamingOutputBase, ToolCallChunk
from crewgraph.definitions.stream import Finished, FlowFinished, FlowPaused, StreamItem, Token, ToolCallToken
from crewgraph.events.frames import Ended
from crewgraph.runtime.execution import Run, interruptible
from crewgraph.runtime.streaming.audience import Audience
from crewgraph.tracebacks import shortened

__all__ = ["WatchedRun"]

OutputT = TypeVar("OutputT", bound=StreamingOutputBase[Any])
ChunkT = TypeVar("ChunkT")


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
        with shortened(), interruptible():
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

    async def aitems(self) -> AsyncGenerator[Any]:
        """Run the program on this event loop and yield its items."""
        driver = _ProgramDriver(self._program, self._audience)
        audience = self._audience
        with shortened(), interruptible():
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
