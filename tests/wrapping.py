"""LangGraph's methods, wrapped as instrumentation wraps them: crewgraph's runs then use LangGraph's own loop."""

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, cast

from langgraph.pregel import Pregel

__all__ = ["wrap_stream_methods"]


def wrap_stream_methods(setattr: Callable[[object, str, object], None]) -> None:
    """Wrap `stream` and `astream`.

    Args:
        setattr: sets the wrappers, perhaps for a while.
    """
    stream, astream = cast("Any", Pregel).stream, cast("Any", Pregel).astream

    @functools.wraps(stream)
    def wrapped(self: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        yield from stream(self, *args, **kwargs)

    @functools.wraps(astream)
    async def awrapped(self: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        async for part in astream(self, *args, **kwargs):
            yield part

    setattr(Pregel, "stream", wrapped)
    setattr(Pregel, "astream", awrapped)
