"""Calls of remote agents, on an event loop of their own that sync and async runs in any thread share."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from crewgraph.contrib.a2a.answer import RemoteAnswer
from crewgraph.contrib.a2a.config import RemoteAgent
from crewgraph.core.current import CURRENT
from crewgraph.core.loops.threads import LoopThread
from crewgraph.events.a2a import EventFields
from crewgraph.extras import require
from crewgraph.schema import PlainDict, PlainMapping

if TYPE_CHECKING:
    from crewgraph.contrib.a2a.session import Session


_loop = LoopThread("crewgraph-a2a")


def require_sdk() -> None:
    """Import a2a-sdk.

    Raises:
        MissingExtra: It is not installed.
    """
    require("a2a.client", extra="a2a", purpose="A remote agent")


class _OpenSession:
    """The session of a run with a remote agent, which the run closes at its end."""

    def __init__(self, remote: RemoteAgent) -> None:
        require_sdk()
        from crewgraph.contrib.a2a.session import Session

        self.session = Session(remote)

    def close(self) -> None:
        """Close the session in the background."""
        _loop.begin(self.session.aclose())


@contextmanager
def _session_with(remote: RemoteAgent) -> Generator["Session"]:
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


def fetch_card(remote: RemoteAgent, fields: EventFields) -> PlainDict:
    """Return a remote agent's card.

    Raises:
        RemoteAgentError: If it cannot be reached or its card is not usable.
    """
    with _session_with(remote) as session:
        return _loop.run(session.card(fields))


def send_message(remote: RemoteAgent, card: PlainMapping, message: PlainMapping, fields: EventFields) -> RemoteAnswer:
    """Send a message; return the answer, or the state of the task that it started."""
    with _session_with(remote) as session:
        return _loop.run(session.send(card, message, fields))


async def asend_message(
    remote: RemoteAgent, card: PlainMapping, message: PlainMapping, fields: EventFields
) -> RemoteAnswer:
    """Async version of `send_message`."""
    with _session_with(remote) as session:
        return await _loop.arun(session.send(card, message, fields))


def follow_task(remote: RemoteAgent, card: PlainMapping, started: RemoteAnswer, fields: EventFields) -> RemoteAnswer:
    """Wait for the answer of a task that a message started."""
    with _session_with(remote) as session:
        return _loop.run(session.follow(card, started, fields))


async def afollow_task(
    remote: RemoteAgent, card: PlainMapping, started: RemoteAnswer, fields: EventFields
) -> RemoteAnswer:
    """Async version of `follow_task`."""
    with _session_with(remote) as session:
        return await _loop.arun(session.follow(card, started, fields))
