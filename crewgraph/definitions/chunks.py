"""The streaming outputs of crews and flows with `stream=True`, as in CrewAI."""

from collections.abc import AsyncIterator, Iterator
from enum import Enum
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from crewgraph.definitions.task.output import CrewOutput
from crewgraph.events.frames import Pieces

__all__ = [
    "CrewStreamingOutput",
    "FlowStreamingOutput",
    "StreamChunk",
    "StreamChunkType",
    "StreamingOutputBase",
    "ToolCallChunk",
]

Result = TypeVar("Result")


class StreamChunkType(Enum):
    """What a chunk is a piece of."""

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
    """Which of the answer's calls it is, from 0."""


class StreamChunk(BaseModel):
    """A piece of an answer."""

    content: str
    """The piece of the text, or of a tool call's arguments."""

    chunk_type: StreamChunkType = StreamChunkType.TEXT
    """What it is a piece of."""

    task_index: int = 0
    """The place of the task in the crew, from 0."""

    task_name: str = ""
    """The task's name, its description where it has none."""

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
    """The pieces of a run's answers, to be iterated once, and its result behind them.

    What was done before `close`, `aclose` or the end of a `with` is kept, and can be resumed.
    """

    _taking = "iterate over all pieces"

    @property
    def chunks(self) -> list[StreamChunk]:
        """The pieces so far."""
        return self._pieces.copy()

    def get_full_text(self) -> str:
        """The pieces of text so far, put together."""
        return "".join(chunk.content for chunk in self._pieces if chunk.chunk_type is StreamChunkType.TEXT)

    def __iter__(self) -> Iterator[StreamChunk]:
        return self._taken()

    def __aiter__(self) -> AsyncIterator[StreamChunk]:
        return self._ataken()


class CrewStreamingOutput(StreamingOutputBase[CrewOutput]):
    """What a crew with `stream=True` returns from `kickoff`."""

    _resuming = "; `crew.resume(thread_id)` goes on"

    @property
    def results(self) -> list[CrewOutput]:
        """The output, as a list."""
        return [self.result]


class FlowStreamingOutput(StreamingOutputBase[Any]):
    """What a flow with `stream=True` returns from `kickoff`."""

    _resuming = "; `flow.resume(flow_id)` goes on"
