"""A run that is watched: carried out while its items are taken, as items, as chunks or as frames."""

from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator
from contextlib import aclosing, closing, contextmanager
from typing import Any, TypeVar

from crewgraph.core.cancellation import RunAbandoned
from crewgraph.core.operations import Operation, Program
from crewgraph.definitions.chunks import StreamChunk, StreamChunkType, StreamingOutputBase, ToolCallChunk
from crewgraph.definitions.stream import Finished, FlowFinished, FlowPaused, StreamItem, Token, ToolCallToken
from crewgraph.events.frames import Ended
from crewgraph.runtime.execution import Run
from crewgraph.runtime.streaming.audience import Audience

__all__ = ["WatchedRun"]

Output = TypeVar("Output", bound=StreamingOutputBase[Any])
Viewed = TypeVar("Viewed")


class WatchedRun:
    """A run whose items are taken while it goes on.

    Args:
        program: the run; it begins with the first item that is taken.
        audience: makes items of its events.
    """

    def __init__(self, program: Program[object], audience: Audience) -> None:
        self._program, self._audience = program, audience

    def items(self) -> Generator[Any]:
        """Carry the run out, and give its items, one after the other."""
        course = _Course(self._program, self._audience)
        audience = self._audience
        try:
            while (operation := course.next()) is not None:
                yield from audience.told()
                if not isinstance(operation, Run):
                    with course.settling(), audience.listening():
                        course.reply = operation.run()
                    continue
                with course.settling(operation), closing(operation.parts(audience)) as parts:
                    for part in parts:
                        yield from audience.written(part)
            yield from course.end()
        except GeneratorExit:
            for operation in course.leaving():
                with course.settling(), audience.listening():
                    course.reply = operation.run()
            raise

    async def aitems(self) -> AsyncGenerator[Any]:
        """Carry the run out on this event loop, and give its items."""
        course = _Course(self._program, self._audience)
        audience = self._audience
        try:
            while (operation := course.next()) is not None:
                for item in audience.told():
                    yield item
                if not isinstance(operation, Run):
                    with course.settling(), audience.listening():
                        course.reply = await operation.arun()
                    continue
                with course.settling(operation):
                    async with aclosing(operation.aparts(audience)) as parts:
                        async for part in parts:
                            for item in audience.written(part):
                                yield item
            for item in course.end():
                yield item
        except GeneratorExit:
            for operation in course.leaving():
                with course.settling(), audience.listening():
                    course.reply = await operation.arun()
            raise

    def chunks(self, output: type[Output]) -> Output:
        """The run in CrewAI's form: the pieces of answers, and the result behind them."""
        return output(sync_iterator=_viewed(self.items(), self._chunk))

    def achunks(self, output: type[Output]) -> Output:
        """The run in CrewAI's form, on the event loop that takes the pieces."""
        return output(async_iterator=_aviewed(self.aitems(), self._chunk))

    def _chunk(self, item: StreamItem) -> Iterable[StreamChunk | Ended]:
        """The chunk for an item, or the result; nothing for the others."""
        match item:
            case Token():
                return (StreamChunk(content=item.text, **self._audience.about(item)),)
            case ToolCallToken():
                call = ToolCallChunk(tool_id=item.id, tool_name=item.tool, arguments=item.arguments, index=item.index)
                about = self._audience.about(item)
                return (StreamChunk(content=item.text, chunk_type=StreamChunkType.TOOL_CALL, tool_call=call, **about),)
            case Finished():
                return (Ended(item.output),)
            case FlowFinished():
                return (Ended(item.result),)
            case FlowPaused():
                return (Ended(item.pending),)
            case _:
                return ()


def _viewed(items: Generator[object], view: Callable[[Any], Iterable[Viewed]]) -> Generator[Viewed]:
    with closing(items):
        for item in items:
            yield from view(item)


async def _aviewed(items: AsyncGenerator[object], view: Callable[[Any], Iterable[Viewed]]) -> AsyncGenerator[Viewed]:
    async with aclosing(items):
        async for item in items:
            for viewed in view(item):
                yield viewed


class _Course:
    """A program under way, between the operations that others carry out for it."""

    def __init__(self, program: Program[object], audience: Audience) -> None:
        self._program, self._audience = program, audience
        self._step: Any = program.send
        self._returned: object = None
        self._failure: BaseException | None = None
        self.reply: object = None
        """What came of the latest operation."""

    def next(self) -> Operation | None:
        """What is to be carried out next; None where the program has ended."""
        try:
            with self._audience.listening():
                operation = self._step(self.reply)
        except StopIteration as stop:
            self._returned = stop.value
            return None
        except BaseException as error:  # noqa: BLE001 - raised at the end, behind all items
            self._failure = error
            return None
        self._step, self.reply = self._program.send, None
        return operation

    @contextmanager
    def settling(self, reply: object = None) -> Generator[None]:
        """Carry out an operation: its failure is the program's to decide on."""
        self.reply = reply
        try:
            yield
        except GeneratorExit:
            raise
        except BaseException as error:  # noqa: BLE001 - thrown into the program, which decides
            self._step, self.reply = self._program.throw, error

    def end(self) -> Iterator[Any]:
        """The last items; raises what the program raised."""
        yield from self._audience.told()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        yield self._audience.last(self._returned)

    def leaving(self) -> Iterator[Operation]:
        """Nobody watches any more: the program ends where it is; what it still has to do for that."""
        self._audience.leave()
        self._step, self.reply = self._program.throw, RunAbandoned()
        while (operation := self.next()) is not None:
            yield operation
        if self._failure is not None and not isinstance(self._failure, RunAbandoned):
            raise self._failure
