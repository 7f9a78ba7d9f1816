"""A kickoff told item by item, while it runs."""

from collections.abc import AsyncGenerator, Generator, Iterator, Mapping
from contextlib import aclosing, closing, contextmanager, suppress
from typing import Any

from crewgraph.core.leaving import RunLeft
from crewgraph.core.operations import Operation, Program
from crewgraph.definitions.crew import Crew
from crewgraph.definitions.output import CrewOutput
from crewgraph.definitions.stream import Finished, StreamItem
from crewgraph.runtime.audience import Audience
from crewgraph.runtime.kickoff import kicked_off
from crewgraph.runtime.operations import Run

__all__ = ["astream", "stream"]


def stream(
    crew: Crew,
    inputs: Mapping[str, Any] | None,
    *,
    thread_id: str | None = None,
    checkpointer: Any = None,
    granularity: str = "task",
) -> Generator[StreamItem]:
    """Run a crew and tell of it; see `Crew.stream`."""
    audience = Audience()
    course = _Course(kicked_off(crew, inputs, thread_id, checkpointer, granularity, audience), audience)
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
        course.leave()
        raise


async def astream(
    crew: Crew,
    inputs: Mapping[str, Any] | None,
    *,
    thread_id: str | None = None,
    checkpointer: Any = None,
    granularity: str = "task",
) -> AsyncGenerator[StreamItem]:
    """Run a crew on this event loop and tell of it; see `Crew.astream`."""
    audience = Audience()
    course = _Course(kicked_off(crew, inputs, thread_id, checkpointer, granularity, audience), audience)
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
        course.leave()
        raise


class _Course:
    """A program under way, between the operations that others carry out for it."""

    def __init__(self, program: Program[CrewOutput], audience: Audience) -> None:
        self._program, self._audience = program, audience
        self._step: Any = program.send
        self._ended: CrewOutput | BaseException | None = None
        self.reply: Any = None
        """What came of the latest operation."""

    def next(self) -> Operation | None:
        """What is to be carried out next; None where the program has ended."""
        try:
            with self._audience.listening():
                operation = self._step(self.reply)
        except StopIteration as stop:
            self._ended = stop.value
            return None
        except BaseException as error:  # noqa: BLE001 - raised at the end, behind all items
            self._ended = error
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
        ended, self._ended = self._ended, None
        if isinstance(ended, BaseException):
            raise ended
        assert ended is not None
        yield Finished(output=ended)

    def leave(self) -> None:
        """Nobody watches any more: the program ends where it is."""
        self._audience.leave()
        with suppress(RunLeft):
            self._program.throw(RunLeft())
