"""BaseInterceptor: sees, and may change, what goes to a provider and what comes back, on the level of HTTP."""

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from crewgraph.core.loops.bridge import in_thread

__all__ = ["BaseInterceptor"]

T = TypeVar("T")
U = TypeVar("U")


class BaseInterceptor(ABC, Generic[T, U]):
    """Stands between a model and its provider: `LLM(..., interceptor=...)`, with `httpx.Request` and `httpx.Response`."""

    @abstractmethod
    def on_outbound(self, message: T) -> T:
        """Look at a request before it is sent; what it returns is sent."""

    @abstractmethod
    def on_inbound(self, message: U) -> U:
        """Look at a response before the model reads it; what it returns is read."""

    async def aon_outbound(self, message: T) -> T:
        """The same in an async run; as it stands, `on_outbound` in a thread."""
        return await in_thread(self.on_outbound, message)

    async def aon_inbound(self, message: U) -> U:
        """The same in an async run; as it stands, `on_inbound` in a thread."""
        return await in_thread(self.on_inbound, message)
