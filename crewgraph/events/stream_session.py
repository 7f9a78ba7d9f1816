"""A run as frames, one for each of its events, with what it gave behind them."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Generic

from typing_extensions import TypeVar

from crewgraph.events.frame import StreamChannel, StreamFrame
from crewgraph.events.pieces import Pieces

__all__ = ["AsyncStreamSession", "StreamSession", "StreamSessionBase"]

Result = TypeVar("Result")
Frames = TypeVar("Frames", default=Any)


class StreamSessionBase(Pieces[StreamFrame, Result], ABC, Generic[Result, Frames]):
    """The frames of a run, each to be taken once, and its result behind them."""

    _taking = "take all frames"

    @property
    def frames(self) -> list[StreamFrame]:
        """The frames so far."""
        return self._pieces.copy()

    @abstractmethod
    def subscribe(self, channels: Sequence[StreamChannel] | None = None) -> Frames:
        """The frames of some channels; of all where None."""

    def interleave(self, channels: Sequence[StreamChannel]) -> Frames:
        """The frames of some channels, in the order in which they came."""
        return self.subscribe(channels)

    @property
    def events(self) -> Frames:
        """All frames."""
        return self.subscribe()

    @property
    def llm(self) -> Frames:
        """Those of models."""
        return self.subscribe(["llm"])

    @property
    def tools(self) -> Frames:
        """Those of tools."""
        return self.subscribe(["tools"])

    @property
    def flow(self) -> Frames:
        """Those of flows and their methods."""
        return self.subscribe(["flow"])

    @property
    def messages(self) -> Frames:
        """Those of conversations."""
        return self.subscribe(["messages"])


class StreamSession(StreamSessionBase[Result, Iterator[StreamFrame]]):
    """The frames of a run, for code without an event loop: `for frame in session`."""

    def __iter__(self) -> Iterator[StreamFrame]:
        return self.subscribe()

    def subscribe(self, channels: Sequence[StreamChannel] | None = None) -> Iterator[StreamFrame]:
        """The frames of some channels; of all where None."""
        return (frame for frame in self._taken() if channels is None or frame.channel in channels)


class AsyncStreamSession(StreamSessionBase[Result, AsyncIterator[StreamFrame]]):
    """The frames of a run on an event loop: `async for frame in session.events`."""

    def __aiter__(self) -> AsyncIterator[StreamFrame]:
        return self.subscribe()

    def subscribe(self, channels: Sequence[StreamChannel] | None = None) -> AsyncIterator[StreamFrame]:
        """The frames of some channels; of all where None."""
        return (frame async for frame in self._ataken() if channels is None or frame.channel in channels)
