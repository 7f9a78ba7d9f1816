"""A run told item by item, while it goes on."""

from collections.abc import AsyncGenerator, Generator, Iterator, Mapping
from contextlib import aclosing, closing, contextmanager
from typing import Any

from crewgraph.core.cancellation import RunAbandoned
from crewgraph.core.operations import Operation, Program
from crewgraph.definitions.crew import Crew
from crewgraph.definitions.stream import StreamItem
from crewgraph.runtime.audience import Audience
from crewgraph.runtime.crew_audience import CrewAudience
from crewgraph.runtime.kickoff import kicked_off
from crewgraph.runtime.operations import Run

__all__ = ["astream", "astreamed", "stream", "streamed"]


def stream(
    crew: Crew,
    inputs: Mapping[str, Any] | None,
    *,
    thread_id: str | None = None,
    checkpointer: Any = None,
    granularity: str = "task",
) -> Generator[StreamItem]:
    """Run a crew and tell of it; see `Crew.stream`."""
    audience = CrewAudience()
    return streamed(kicked_off(crew, inputs, thread_id, checkpointer, granularity, audience), audience)


def astream(
    crew: Crew,
    inputs: Mapping[str, Any] | None,
    *,
    thread_id: str | None = None,
    checkpointer: Any = None,
    granularity: str = "task",
) -> AsyncGenerator[StreamItem]:
    """Run a crew on this event loop and tell of it; see `Crew.astream`."""
    audience = CrewAudience()
    return astreamed(kicked_off(crew, inputs, thread_id, checkpointer, granularity, audience), audience)


def streamed(program: Program[Any], audience: Audience) -> Generator[StreamItem]:
    """Carry out a program, and give what its audience is told."""
    course = _Course(program, audience)
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


async def astreamed(program: Program[Any], audience: Audience) -> AsyncGenerator[StreamItem]:
    """Carry out a program on this event loop, and give what its audience is told."""
    course = _Course(program, audience)
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


class _Course:
    """A program under way, between the operations that others carry out for it."""

    def __init__(self, program: Program[Any], audience: Audience) -> None:
        self._program, self._audience = program, audience
        self._step: Any = program.send
        self._returned: Any = None
        self._failure: BaseException | None = None
        self.reply: Any = None
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
    def settling(self, reply: Any = None) -> Generator[None]:
        """Carry out an operation: its failure is the program's to decide on."""
        self.reply = reply
        try:
            yield
        except GeneratorExit:
            raise
        except BaseException as error:  # noqa: BLE001 - thrown into the program, which decides
            self._step, self.reply = self._program.throw, error

    def end(self) -> Iterator[StreamItem]:
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
