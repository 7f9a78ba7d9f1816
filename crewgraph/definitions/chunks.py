"""A run as CrewAI shows it while it lasts, where a crew or a flow is made with `stream=True`."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from enum import Enum
from types import TracebackType
from typing import Any, ClassVar, Generic, Self, TypeVar

from pydantic import BaseModel

from crewgraph.definitions.output import CrewOutput
from crewgraph.errors import RunError

__all__ = [
    "CrewStreamingOutput",
    "FlowStreamingOutput",
    "StreamChunk",
    "StreamChunkType",
    "StreamResult",
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


@dataclass(frozen=True)
class StreamResult:
    """The end of the pieces: what the run gave."""

    value: Any


class StreamingOutputBase(Generic[Result]):
    """The pieces of a run's answers, to be iterated once, and its result behind them.

    The run begins with the first piece that is asked for. One that is not iterated to its end stands still; `close` and
    `aclose`, or leaving a `with`, end it: what was done is kept and can be resumed.

    Args:
        sync_iterator: the pieces, and a `StreamResult` last.
        async_iterator: the same, for `async for`.
    """

    _resume: ClassVar[str] = "`resume`"
    """How a run that was ended goes on."""

    def __init__(
        self,
        sync_iterator: "Iterator[StreamChunk | StreamResult] | None" = None,
        async_iterator: "AsyncIterator[StreamChunk | StreamResult] | None" = None,
    ) -> None:
        self._iterator, self._async_iterator = sync_iterator, async_iterator
        self._chunks: list[StreamChunk] = []
        self._result: StreamResult | None = None
        self._failure: BaseException | None = None
        self._closed = self._over = False

    @property
    def chunks(self) -> list[StreamChunk]:
        """The pieces so far."""
        return self._chunks.copy()

    @property
    def is_completed(self) -> bool:
        """Whether there is nothing more to come."""
        return self._closed or self._over

    @property
    def is_cancelled(self) -> bool:
        """Whether it was closed before its end."""
        return self._closed

    @property
    def result(self) -> Result:
        """What the run gave.

        Raises:
            RunError: the run has not ended yet, or was closed.
            Exception: what the run failed with.
        """
        if self._failure is not None:
            raise self._failure
        if self._result is None:
            raise RunError(
                f"the stream ended before the run, so it has no result; {self._resume} goes on"
                if self.is_completed
                else "the run has not ended: iterate over all pieces before you take `.result`"
            )
        return self._result.value

    def get_full_text(self) -> str:
        """The pieces of text so far, put together."""
        return "".join(chunk.content for chunk in self._chunks if chunk.chunk_type is StreamChunkType.TEXT)

    def __iter__(self) -> Iterator[StreamChunk]:
        if self._iterator is None:
            raise RunError("this run is on an event loop: `async for chunk in output`")
        while not self.is_completed:
            try:
                piece = next(self._iterator, None)
            except BaseException as error:
                self._failure, self._over = error, True
                raise
            if self._noted(piece):
                yield self._chunks[-1]

    async def __aiter__(self) -> AsyncIterator[StreamChunk]:
        if self._async_iterator is None:
            raise RunError(
                "this run is on no event loop: `for chunk in output`, or `await` the asynchronous `kickoff_async()`"
            )
        while not self.is_completed:
            try:
                piece = await anext(self._async_iterator, None)
            except BaseException as error:
                self._failure, self._over = error, True
                raise
            if self._noted(piece):
                yield self._chunks[-1]

    def _noted(self, piece: StreamChunk | StreamResult | None) -> bool:
        if isinstance(piece, StreamChunk):
            self._chunks.append(piece)
            return True
        self._over = True
        self._result = piece
        return False

    def close(self) -> None:
        """End the run, if it still runs."""
        if not self.is_completed:
            self._closed = True
            if (close := getattr(self._iterator, "close", None)) is not None:
                close()

    async def aclose(self) -> None:
        """End the run on its event loop, if it still runs."""
        if not self.is_completed:
            self._closed = True
            if (close := getattr(self._async_iterator, "aclose", None)) is not None:
                await close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class CrewStreamingOutput(StreamingOutputBase[CrewOutput]):
    """What a crew with `stream=True` returns from `kickoff`."""

    _resume = "`crew.resume(thread_id)`"

    @property
    def results(self) -> list[CrewOutput]:
        """The output, as a list."""
        return [self.result]


class FlowStreamingOutput(StreamingOutputBase[Any]):
    """What a flow with `stream=True` returns from `kickoff`."""

    _resume = "`flow.resume(flow_id)`"
