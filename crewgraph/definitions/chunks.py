"""The streaming outputs of crews and flows with `stream=True`, as in CrewAI."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from enum import Enum
from typing import Any, Generic, Self, TypeVar

from pydantic import BaseModel

from crewgraph.definitions.task.output import CrewOutput
from crewgraph.events.frames import Ended, Pieces
from crewgraph.schema import is_list

Result = TypeVar("Result")


class StreamChunkType(Enum):
    """The kind of content that a chunk belongs to."""

    TEXT = "text"
    TOOL_CALL = "tool_call"


class ToolCallChunk(BaseModel):
    """A tool call that a model is writing."""

    tool_id: str | None = None
    """The provider's id of the call."""

    tool_name: str | None = None
    """The tool's name."""

    arguments: str = ""
    """The arguments so far; JSON when they are whole."""

    index: int = 0
    """Index of the call in the answer, from 0."""


class StreamChunk(BaseModel):
    """A piece of an answer."""

    content: str
    """The piece of the text, or of a tool call's arguments."""

    chunk_type: StreamChunkType = StreamChunkType.TEXT
    """The kind of content."""

    task_index: int = 0
    """Index of the task in the crew, from 0."""

    task_name: str = ""
    """The task's name, or its description if it has none."""

    task_id: str = ""
    """The task's id."""

    agent_role: str = ""
    """The agent's role, its placeholders filled."""

    agent_id: str = ""
    """The agent's id."""

    tool_call: ToolCallChunk | None = None
    """The tool call that is being written."""

    def __str__(self) -> str:
        return self.content


class StreamingOutputBase(Pieces[StreamChunk, Result], Generic[Result]):
    """The chunks of a run's answers, iterable once, followed by its result.

    Work done before `close`, `aclose` or the end of a `with` block is stored and can be resumed.
    """

    _how_to_finish = "iterate over all chunks"

    @property
    def chunks(self) -> list[StreamChunk]:
        """The chunks so far."""
        return self._pieces.copy()

    def get_full_text(self) -> str:
        """Return the text received so far."""
        return "".join(chunk.content for chunk in self._pieces if chunk.chunk_type is StreamChunkType.TEXT)

    def __iter__(self) -> Iterator[StreamChunk]:
        return self._iterate()

    def __aiter__(self) -> AsyncIterator[StreamChunk]:
        return self._aiterate()


class CrewStreamingOutput(StreamingOutputBase[CrewOutput]):
    """Return value of `kickoff` of a crew with `stream=True`."""

    _how_to_resume = "; `crew.resume(thread_id)` continues it"

    @classmethod
    def of(cls, runs: Sequence["CrewStreamingOutput"]) -> Self:
        """Return the chunks of several runs, one after the other."""

        async def chunks() -> AsyncGenerator[StreamChunk | Ended]:
            for run in runs:
                async for chunk in run:
                    yield chunk
            yield Ended([run.result for run in runs])

        return cls(async_iterator=chunks())

    @property
    def results(self) -> list[CrewOutput]:
        """The output, or those of several runs, as a list."""
        result: Any = self.result
        return result if is_list(result) else [result]


class FlowStreamingOutput(StreamingOutputBase[Any]):
    """Return value of `kickoff` of a flow with `stream=True`."""

    _how_to_resume = "; `flow.resume(flow_id)` continues it"
