"""What holds a file, in `with` and `async with`."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from crewgraph.core.loops.bridge import in_thread

__all__ = ["Closing"]


class Closing(ABC):
    """Is closed at the end of its block; on an event loop in a thread, for closing may wait."""

    @abstractmethod
    def close(self) -> None:
        """End what it holds; twice is once."""

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
        await in_thread(self.close)
