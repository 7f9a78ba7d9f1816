"""A run as pieces that are taken while it lasts, with what it gave behind them."""

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, ClassVar, Generic, Self, TypeVar

from crewgraph.errors import RunError

__all__ = ["Ended", "Pieces"]

Piece = TypeVar("Piece")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Ended:
    """The end of the pieces: what the run gave."""

    value: Any


class Pieces(Generic[Piece, Result]):
    """The pieces of a run, each to be taken once, and its result behind them.

    The run begins with the first piece that is asked for, and goes on while pieces are taken. One that is not taken to
    its end stands still; `close` and `aclose`, or leaving a `with`, end it.

    Args:
        sync_iterator: the pieces, and an `Ended` last.
        async_iterator: the same, for an event loop.
    """

    _taking: ClassVar[str] = "take all pieces"
    """How a run comes to its end."""

    _resuming: ClassVar[str] = ""
    """How a run that was ended before goes on."""

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
        """Whether there is nothing more to come."""
        return self._over or self._closed

    @property
    def is_cancelled(self) -> bool:
        """Whether it was closed before its end."""
        return self._closed

    @property
    def is_exhausted(self) -> bool:
        """Whether all pieces were taken."""
        return self._over and self._failure is None

    @property
    def result(self) -> Result:
        """What the run gave.

        Raises:
            RunError: the run has not ended yet, or was closed.
            Exception: what the run failed with.
        """
        if self._failure is not None:
            raise self._failure
        if self._ended is None:
            raise RunError(
                f"the stream ended before the run, so it has no result{self._resuming}"
                if self.is_completed
                else f"the run has not ended: {self._taking} before you take `.result`"
            )
        return self._ended.value

    def _taken(self) -> Generator[Piece]:
        if self._iterator is None:
            raise RunError("this run is on an event loop: take its pieces with `async for`")
        while not self.is_completed:
            try:
                piece = next(self._iterator, None)
            except BaseException as error:
                self._failure, self._over = error, True
                raise
            yield from self._noted(piece)

    async def _ataken(self) -> AsyncGenerator[Piece]:
        if self._async_iterator is None:
            raise RunError("this run is on no event loop: take its pieces with `for`, or `await` the asynchronous verb")
        while not self.is_completed:
            try:
                piece = await anext(self._async_iterator, None)
            except BaseException as error:
                self._failure, self._over = error, True
                raise
            for noted in self._noted(piece):
                yield noted

    def _noted(self, piece: Piece | Ended | None) -> tuple[Piece, ...]:
        if piece is None or isinstance(piece, Ended):
            self._over, self._ended = True, piece or self._ended
            return ()
        self._pieces.append(piece)
        return (piece,)

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
