"""The stream of a run in CrewAI's form: pieces of answers, and the output last."""

from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import aclosing, closing
from typing import Any

from crewgraph.definitions.chunks import (
    CrewStreamingOutput,
    StreamChunk,
    StreamChunkType,
    ToolCallChunk,
)
from crewgraph.definitions.crew import Crew
from crewgraph.definitions.run_options import DEFAULT_OPTIONS, RunOptions
from crewgraph.definitions.stream import Finished, StreamItem, TaskStarted, Token, ToolCallToken
from crewgraph.events.pieces import Ended
from crewgraph.runtime.stream import astream, stream

__all__ = ["achunked", "chunk_of", "chunked"]


def chunked(crew: Crew, inputs: Mapping[str, Any] | None, options: RunOptions = DEFAULT_OPTIONS) -> CrewStreamingOutput:
    """What `kickoff` returns for a crew that streams."""

    def pieces() -> Generator[StreamChunk | Ended]:
        view = _View(crew)
        with closing(stream(crew, inputs, options)) as items:
            for item in items:
                yield from view.of(item)

    return CrewStreamingOutput(sync_iterator=pieces())


def achunked(
    crew: Crew, inputs: Mapping[str, Any] | None, options: RunOptions = DEFAULT_OPTIONS
) -> CrewStreamingOutput:
    """What `akickoff` returns for a crew that streams."""

    async def pieces() -> AsyncGenerator[StreamChunk | Ended]:
        view = _View(crew)
        async with aclosing(astream(crew, inputs, options)) as items:
            async for item in items:
                for piece in view.of(item):
                    yield piece

    return CrewStreamingOutput(async_iterator=pieces())


class _View:
    """Items as chunks; the others are left out."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._known: dict[str, dict[str, Any]] = {}

    def of(self, item: StreamItem) -> Generator[StreamChunk | Ended]:
        """The chunk for an item, or the output."""
        if isinstance(item, TaskStarted):
            task = (self._crew.planning_tasks if item.index < 0 else self._crew.tasks)[item.index]
            self._known[item.task] = {
                "task_index": item.index,
                "task_name": item.name or item.description,
                "task_id": str(task.id),
                "agent_role": item.agent,
                "agent_id": str(task.agent.id) if task.agent is not None else "",
            }
        elif isinstance(item, (Token, ToolCallToken)):
            yield chunk_of(item, self._known.get(item.task, {}))
        elif isinstance(item, Finished):
            yield Ended(item.output)


def chunk_of(item: Token | ToolCallToken, about: Mapping[str, Any]) -> StreamChunk:
    """The chunk for a piece of an answer.

    Args:
        item: the piece.
        about: whose it is, by the names of a chunk's fields.
    """
    if isinstance(item, Token):
        return StreamChunk(content=item.text, **about)
    called = ToolCallChunk(tool_id=item.id, tool_name=item.tool, arguments=item.arguments, index=item.index)
    return StreamChunk(content=item.text, chunk_type=StreamChunkType.TOOL_CALL, tool_call=called, **about)
