"""Calls of remote agents, on an event loop of their own that sync and async runs in any thread share."""

from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from crewgraph.contrib.a2a.config import A2AClientConfig
from crewgraph.core.current import CURRENT
from crewgraph.core.loops.threads import LoopThread
from crewgraph.extras import require

if TYPE_CHECKING:
    from crewgraph.contrib.a2a.session import Session

T = TypeVar("T")

_loop = LoopThread("crewgraph-a2a")


def require_sdk() -> None:
    """Import a2a-sdk.

    Raises:
        MissingExtra: It is not installed.
    """
    require("a2a.client", extra="a2a", purpose="A remote agent")


class _OpenSession:
    """The session of a run with a remote agent, which the run closes at its end."""

    def __init__(self, remote: A2AClientConfig) -> None:
        require_sdk()
        from crewgraph.contrib.a2a.session import Session

        self.session = Session(remote)

    def close(self) -> None:
        """Close the session in the background."""
        _loop.begin(self.session.aclose())


@contextmanager
def _session_with(remote: A2AClientConfig) -> Generator["Session"]:
    """Yield the run's session, which stays open; outside a run, a session that closes afterwards."""
    resources = CURRENT.get().resources
    if resources is not None:
        yield resources.of(("a2a", id(remote)), lambda: _OpenSession(remote)).session
        return
    opened = _OpenSession(remote)
    try:
        yield opened.session
    finally:
        opened.close()


def in_session(remote: A2AClientConfig, work: Callable[["Session"], Coroutine[object, object, T]]) -> T:
    """Return the result of a coroutine in the session with a remote agent."""
    with _session_with(remote) as session:
        return _loop.run(work(session))


async def ain_session(remote: A2AClientConfig, work: Callable[["Session"], Coroutine[object, object, T]]) -> T:
    """Async version of `in_session`."""
    with _session_with(remote) as session:
        return await _loop.arun(work(session))
