"""Stream sessions: a running crew or flow as frames that a reader takes while it runs."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, ClassVar, Generic, Literal, Self

from pydantic import BaseModel, Field
from typing_extensions import TypeVar

from crewgraph.errors import RunError
from crewgraph.events.base import BaseEvent
from crewgraph.events.flow import FlowEvent
from crewgraph.events.llm import LLMEventBase
from crewgraph.events.tool import ToolExecutionErrorEvent, ToolUsageEvent
from crewgraph.schema import PlainDict
from crewgraph.tracebacks import shortened

Piece = TypeVar("Piece")
Result = TypeVar("Result")
Frames = TypeVar("Frames", default=Any)

StreamChannel = Literal["llm", "flow", "tools", "messages", "lifecycle", "custom"]
"""The channel of a frame."""

_ELSEWHERE = {"event_id", "type", "timestamp", "emission_sequence", "parent_event_id", "previous_event_id"}
_PIECES = frozenset({"llm_stream_chunk", "llm_thinking_chunk"})
_MESSAGES = frozenset({"conversation_message_added"})


class StreamFrame(BaseModel):
    """An event of a run, as data."""

    id: str
    """The id of the event."""

    seq: int | None = None
    """The number of the event in its run, from 1."""

    type: str
    """The type of the event."""

    channel: StreamChannel
    """The channel."""

    namespace: list[str] = Field(default_factory=list[str])
    """The namespace: the channel, then flow and method, request, tool, or agent and task."""

    timestamp: datetime
    """The time of the event, in UTC."""

    parent_id: str | None = None
    """The id of the event that opened its scope."""

    previous_id: str | None = None
    """The id of the previous event."""

    data: PlainDict = Field(default_factory=dict[str, Any])
    """The other fields of the event."""

    @property
    def event(self) -> PlainDict:
        """An alias of `data`."""
        return self.data

    @property
    def content(self) -> str:
        """The text of a streamed chunk; empty for other frames."""
        return str(self.data.get("chunk") or "") if self.type in _PIECES else ""


def frame_of(event: BaseEvent) -> StreamFrame:
    """Return an event as a frame."""
    channel, names = _channel(event)
    return StreamFrame(
        id=event.event_id,
        seq=event.emission_sequence,
        type=event.type,
        channel=channel,
        namespace=[channel, *(str(name) for name in names if name)],
        timestamp=event.timestamp,
        parent_id=event.parent_event_id,
        previous_id=event.previous_event_id,
        data=event.to_json(exclude=_ELSEWHERE),
    )


def _channel(event: BaseEvent) -> tuple[StreamChannel, tuple[object, ...]]:
    if isinstance(event, LLMEventBase):
        return "llm", (event.call_id,)
    if isinstance(event, ToolUsageEvent | ToolExecutionErrorEvent):
        return "tools", (event.tool_name,)
    if isinstance(event, FlowEvent):
        named = (event.flow_name, getattr(event, "method_name", None), getattr(event, "session_id", None))
        return ("messages" if event.type in _MESSAGES else "flow"), named
    return "custom", (event.agent_role, event.task_name)


@dataclass(frozen=True)
class Ended:
    """The end of the items, with the result of the run."""

    value: Any


class Pieces(Generic[Piece, Result]):
    """The items of a run, each delivered once, and then its result.

    The run starts with the first piece requested, and advances as pieces are taken. If they are not taken to the end, it is
    suspended; `close` and `aclose`, or leaving a `with`, end it.

    Args:
        sync_iterator: the pieces, and an `Ended` last.
        async_iterator: the same, for an event loop.
    """

    _how_to_finish: ClassVar[str] = "take all pieces"
    """How to end a run."""

    _how_to_resume: ClassVar[str] = ""
    """How to resume a run that was ended early."""

    def __init__(
        self,
        sync_iterator: "Iterator[Piece | Ended] | None" = None,
        async_iterator: "AsyncIterator[Piece | Ended] | None" = None,
    ) -> None:
        self._iterator, self._async_iterator = sync_iterator, async_iterator
        self._pieces: list[Piece] = []
        self._ended: Ended | None = None
        self._failure: BaseException | None = None
        self._closed = self._over = False

    @property
    def is_completed(self) -> bool:
        """Whether no more items will come."""
        return self._over or self._closed

    @property
    def is_cancelled(self) -> bool:
        """Whether it was closed early."""
        return self._closed

    @property
    def is_exhausted(self) -> bool:
        """Whether all items were taken."""
        return self._over and self._failure is None

    @property
    def result(self) -> Result:
        """The result of the run.

        Raises:
            RunError: the run has not ended yet, or was closed.
            Exception: the error of the run.
        """
        if self._failure is not None:
            raise self._failure
        if self._ended is None:
            raise RunError(
                f"the stream ended before the run, so it has no result{self._how_to_resume}"
                if self.is_completed
                else f"the run has not ended: {self._how_to_finish} before you read `.result`"
            )
        return self._ended.value

    def _iterate(self) -> Generator[Piece]:
        if self._iterator is None:
            raise RunError("this run is on an event loop: iterate over it with `async for`")
        with shortened():
            while not self.is_completed:
                try:
                    piece = next(self._iterator, None)
                except BaseException as error:  # raised again, and again by `result`
                    self._failure, self._over = error, True
                    raise
                yield from self._record(piece)

    async def _aiterate(self) -> AsyncGenerator[Piece]:
        if self._async_iterator is None:
            raise RunError("this run is on no event loop: iterate over it with `for`, or `await` the async method")
        with shortened():
            while not self.is_completed:
                try:
                    piece = await anext(self._async_iterator, None)
                except BaseException as error:  # raised again, and again by `result`
                    self._failure, self._over = error, True
                    raise
                for recorded in self._record(piece):
                    yield recorded

    def _record(self, piece: Piece | Ended | None) -> tuple[Piece, ...]:
        if piece is None or isinstance(piece, Ended):
            self._over, self._ended = True, piece or self._ended
            return ()
        self._pieces.append(piece)
        return (piece,)

    def close(self) -> None:
        """Stop the run, if it is still running."""
        if not self.is_completed:
            self._closed = True
            if (close := getattr(self._iterator, "close", None)) is not None:
                close()

    async def aclose(self) -> None:
        """Stop the run on its event loop, if it is still running."""
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


class StreamSessionBase(Pieces[StreamFrame, Result], ABC, Generic[Result, Frames]):
    """The frames of a run, each delivered once, and then its result."""

    _how_to_finish = "take all frames"
    _how_to_resume = "; `flow.resume(flow_id)` continues it"

    @property
    def frames(self) -> list[StreamFrame]:
        """The frames so far."""
        return self._pieces.copy()

    @abstractmethod
    def subscribe(self, channels: Sequence[StreamChannel] | None = None) -> Frames:
        """Iterate over the frames of some channels; None for all."""

    def interleave(self, channels: Sequence[StreamChannel]) -> Frames:
        """Iterate over the frames of some channels, in order."""
        return self.subscribe(channels)

    @property
    def events(self) -> Frames:
        """All frames."""
        return self.subscribe()

    @property
    def llm(self) -> Frames:
        """The frames of models."""
        return self.subscribe(["llm"])

    @property
    def tools(self) -> Frames:
        """The frames of tools."""
        return self.subscribe(["tools"])

    @property
    def flow(self) -> Frames:
        """The frames of flows and their methods."""
        return self.subscribe(["flow"])

    @property
    def messages(self) -> Frames:
        """The frames of conversations."""
        return self.subscribe(["messages"])


class StreamSession(StreamSessionBase[Result, Iterator[StreamFrame]]):
    """A session for code without an event loop: `for frame in session`."""

    def __iter__(self) -> Iterator[StreamFrame]:
        return self.subscribe()

    def subscribe(self, channels: Sequence[StreamChannel] | None = None) -> Iterator[StreamFrame]:
        """Iterate over the frames of some channels; None for all."""
        return (frame for frame in self._iterate() if channels is None or frame.channel in channels)


class AsyncStreamSession(StreamSessionBase[Result, AsyncIterator[StreamFrame]]):
    """A session on an event loop: `async for frame in session.events`."""

    def __aiter__(self) -> AsyncIterator[StreamFrame]:
        return self.subscribe()

    def subscribe(self, channels: Sequence[StreamChannel] | None = None) -> AsyncIterator[StreamFrame]:
        """Iterate over the frames of some channels; None for all."""
        return (frame async for frame in self._aiterate() if channels is None or frame.channel in channels)
