"""Conversations with remote agents, on an event loop of their own: runs of both kinds, in whatever threads, share it."""

import asyncio
import time
from collections.abc import Coroutine, Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from crewgraph.contrib.a2a.answer import Heard, RemoteAnswer, message_text
from crewgraph.contrib.a2a.config import PollingConfig, PushNotificationConfig, RemoteAgent, StreamingConfig
from crewgraph.contrib.a2a.wire import About, Wire, emit_a2a_event, streams
from crewgraph.core.loops.threads import LoopThread
from crewgraph.core.resources import enclosing_resources
from crewgraph.errors import RemoteAgentError
from crewgraph.events.a2a import (
    A2AArtifactReceivedEvent,
    A2APollingStartedEvent,
    A2APollingStatusEvent,
    A2APushNotificationRegisteredEvent,
    A2APushNotificationTimeoutEvent,
    A2AStreamingChunkEvent,
    A2AStreamingStartedEvent,
)

__all__ = ["acard_of", "afollowed", "asent", "card_of", "followed", "sent"]

T = TypeVar("T")

_loop = LoopThread("crewgraph-a2a")
_INTERVAL = 1.0
"""Seconds between questions to a remote agent that was to be listened to, and cannot be."""

_LAST = 5.0
"""Seconds for telling a remote agent that nobody waits any longer."""


class _Session:
    """What is known of a remote agent in one run: its card, its connections, the streams that are listened to."""

    def __init__(self, remote: RemoteAgent) -> None:
        self._remote = remote
        self._wire: Wire | None = None
        self._card: dict[str, Any] | None = None
        self._listening: dict[str, _Listening] = {}

    def close(self) -> None:
        """End it, without waiting for that."""
        _loop.begin(self.end())

    async def end(self) -> None:
        """Give up its streams and connections."""
        for one in self._listening.values():
            one.task.cancel()
        if self._wire is not None:
            await self._wire.close()

    @property
    def _open(self) -> Wire:
        self._wire = self._wire or Wire(self._remote)
        return self._wire

    async def card(self, about: About) -> dict[str, Any]:
        """Its card; asked for once."""
        if self._card is None:
            self._card = await self._open.card(about)
        return self._card

    async def send(self, card: Mapping[str, Any], message: Mapping[str, Any], about: About) -> RemoteAnswer:
        """Send a message; the answer, or how the task stands that it began."""
        updates = self._remote.updates
        if isinstance(updates, StreamingConfig) and streams(card):
            return await self._listen(card, message, about)
        heard, seen = Heard(), _Seen(self._remote, about)
        heard.take(await self._open.call(card, "message/send", self._params(message), about))
        if isinstance(updates, PushNotificationConfig) and not heard.is_settled:
            emit_a2a_event(
                self._remote, A2APushNotificationRegisteredEvent, seen.on(heard), callback_url=str(updates.url)
            )
        return heard.answer

    def _params(self, message: Mapping[str, Any], **settings: Any) -> dict[str, Any]:
        updates = self._remote.updates
        settings = {"acceptedOutputModes": self._remote.output_modes, "blocking": False, **settings}
        if isinstance(updates, PollingConfig):
            settings["historyLength"] = updates.history_length
        if isinstance(updates, PushNotificationConfig):
            pushed = {"id": updates.id, "token": updates.token, "authentication": _plain(updates.authentication)}
            told = {name: value for name, value in pushed.items() if value is not None}
            settings["pushNotificationConfig"] = {"url": str(updates.url), **told}
        return {"message": message, "configuration": settings}

    async def _listen(self, card: Mapping[str, Any], message: Mapping[str, Any], about: About) -> RemoteAnswer:
        params = self._params(message)
        listening = _Listening(_Seen(self._remote, about))
        results = self._open.stream(card, "message/stream", params, about)
        listening.task = asyncio.create_task(listening.hear(results))
        await self._within(listening.known.wait(), "begin with its task")
        if listening.task.done():
            return listening.answer()
        self._listening[str(listening.heard.task_id)] = listening
        return listening.heard.answer

    async def follow(self, card: Mapping[str, Any], task: str, context: str | None, about: About) -> RemoteAnswer:
        """Wait until a task is settled."""
        listening = self._listening.pop(task, None)
        if listening is None:
            return await self._polled(card, task, about)
        try:
            await self._within(asyncio.wait([listening.task]), "end its task")
        except RemoteAgentError:
            listening.task.cancel()
            await self._give_up(card, task, about)
            raise
        if listening.heard.is_settled:
            return listening.heard.answer
        return await self._polled(card, task, about)  # the stream broke off

    async def _polled(self, card: Mapping[str, Any], task: str, about: About) -> RemoteAnswer:
        updates, asked = self._remote.updates, 0
        interval = _INTERVAL if isinstance(updates, StreamingConfig) else updates.interval
        own = None if isinstance(updates, StreamingConfig) else updates.timeout
        seconds, began = self._remote.timeout if own is None else own, time.monotonic()
        most = updates.max_polls if isinstance(updates, PollingConfig) else None
        seen = _Seen(self._remote, {**about, "task_id": task})
        emit_a2a_event(self._remote, A2APollingStartedEvent, seen.about, polling_interval=interval)
        while True:
            heard, passed = Heard(), time.monotonic() - began
            heard.take(await self._asked(card, task, about))
            asked += 1
            how = {"state": heard.state, "elapsed_seconds": passed, "poll_count": asked}
            emit_a2a_event(self._remote, A2APollingStatusEvent, seen.on(heard), **how)
            if heard.is_settled:
                return heard.answer
            if passed + interval > seconds or asked == most:
                break
            await asyncio.sleep(interval)
        if isinstance(updates, PushNotificationConfig):
            emit_a2a_event(self._remote, A2APushNotificationTimeoutEvent, seen.about, timeout_seconds=seconds)
        await self._give_up(card, task, about)
        raise RemoteAgentError(
            f"the remote agent `{card.get('name')}` has not ended its task after {passed:.3g} seconds and {asked} questions; "
            "it was told to stop. Its `timeout`, or that of `updates`, gives it more time."
        )

    async def _asked(self, card: Mapping[str, Any], task: str, about: About) -> Mapping[str, Any]:
        updates = self._remote.updates
        if isinstance(updates, PushNotificationConfig) and updates.result_store is not None:
            kept = await updates.result_store.get_result(task)
            if kept is not None:
                return _plain(kept)
        length = updates.history_length if isinstance(updates, PollingConfig) else 1
        return await self._open.call(card, "tasks/get", {"id": task, "historyLength": length}, about)

    async def _within(self, work: Coroutine[Any, Any, T], what: str) -> T:
        try:
            async with asyncio.timeout(self._remote.timeout):
                return await work
        except TimeoutError:
            raise RemoteAgentError(
                f"the remote agent did not {what} within {self._remote.timeout} seconds. `timeout=` gives it more time."
            ) from None

    async def _give_up(self, card: Mapping[str, Any], task: str, about: About) -> None:
        with suppress(RemoteAgentError, TimeoutError):
            async with asyncio.timeout(_LAST):
                await self._open.call(card, "tasks/cancel", {"id": task}, about)


class _Seen:
    """What listeners are told of one message's task."""

    def __init__(self, remote: RemoteAgent, about: About) -> None:
        self.remote, self.about, self._chunks = remote, about, 0

    def on(self, heard: Heard) -> dict[str, Any]:
        """What is known of it by now."""
        return {**self.about, "context_id": heard.context_id, "task_id": heard.task_id}

    def told(self, result: Mapping[str, Any], heard: Heard) -> None:
        """A result of the stream."""
        artifact: Mapping[str, Any] | None = result.get("artifact")
        status: Mapping[str, Any] = result.get("status") or {}
        holder: Mapping[str, Any] = artifact or status.get("message") or result
        chunk = message_text(list(holder.get("parts") or ()))
        more = {"chunk": chunk, "chunk_index": self._chunks, "final": bool(result.get("final") or heard.is_settled)}
        self._chunks += 1
        emit_a2a_event(self.remote, A2AStreamingChunkEvent, self.on(heard), **more)
        if artifact:
            described = {
                "artifact_id": str(artifact.get("artifactId") or ""),
                "artifact_name": artifact.get("name"),
                "artifact_description": artifact.get("description"),
                "size_bytes": len(chunk.encode()),
                "append": bool(result.get("append")),
                "last_chunk": bool(result.get("lastChunk")),
            }
            emit_a2a_event(self.remote, A2AArtifactReceivedEvent, self.on(heard), **described)


class _Listening:
    """A stream, read by a task of its own until it ends."""

    task: "asyncio.Task[None]"

    def __init__(self, seen: _Seen) -> None:
        self.heard, self.known = Heard(), asyncio.Event()
        self._seen = seen
        self._failure: RemoteAgentError | None = None

    async def hear(self, results: Any) -> None:
        """Read it."""
        emit_a2a_event(self._seen.remote, A2AStreamingStartedEvent, self._seen.about)
        try:
            async for result in results:
                self.heard.take(result)
                self._seen.told(result, self.heard)
                if self.heard.task_id is not None:
                    self.known.set()
                if self.heard.is_settled:
                    return
        except RemoteAgentError as failure:
            self._failure = failure  # what was heard so far is looked at first
        finally:
            self.known.set()

    def answer(self) -> RemoteAnswer:
        """What was heard; where it broke off, how far it is.

        Raises:
            RemoteAgentError: nothing was heard.
        """
        if self._failure is not None and self.heard.task_id is None:
            raise self._failure
        return self.heard.answer


def _plain(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    return dump(mode="json", by_alias=True, exclude_none=True) if callable(dump) else value


@contextmanager
def _used(remote: RemoteAgent) -> Generator[_Session]:
    """The run's session, which stays open, or one for this alone where there is no run."""
    around = enclosing_resources()
    if around is not None:
        yield around.of(("a2a", id(remote)), lambda: _Session(remote))
        return
    session = _Session(remote)
    try:
        yield session
    finally:
        session.close()


def card_of(remote: RemoteAgent, about: About) -> dict[str, Any]:
    """A remote agent's card.

    Raises:
        RemoteAgentError: it is not there, or has no card that can be used.
    """
    with _used(remote) as session:
        return _loop.run(session.card(about))


async def acard_of(remote: RemoteAgent, about: About) -> dict[str, Any]:
    """The same on the running event loop."""
    with _used(remote) as session:
        return await _loop.arun(session.card(about))


def sent(remote: RemoteAgent, card: Mapping[str, Any], message: Mapping[str, Any], about: About) -> RemoteAnswer:
    """A message, sent; the answer, or how the task stands that it began."""
    with _used(remote) as session:
        return _loop.run(_told(session.send(card, message, about), message))


async def asent(remote: RemoteAgent, card: Mapping[str, Any], message: Mapping[str, Any], about: About) -> RemoteAnswer:
    """The same on the running event loop."""
    with _used(remote) as session:
        return await _loop.arun(_told(session.send(card, message, about), message))


def followed(remote: RemoteAgent, card: Mapping[str, Any], begun: RemoteAnswer, about: About) -> RemoteAnswer:
    """What came of a task that a message began."""
    with _used(remote) as session:
        return _loop.run(_told(session.follow(card, str(begun["task_id"]), begun["context_id"], about), begun))


async def afollowed(remote: RemoteAgent, card: Mapping[str, Any], begun: RemoteAnswer, about: About) -> RemoteAnswer:
    """The same on the running event loop."""
    with _used(remote) as session:
        return await _loop.arun(_told(session.follow(card, str(begun["task_id"]), begun["context_id"], about), begun))


async def _told(work: Coroutine[Any, Any, RemoteAnswer], of: Mapping[str, Any]) -> RemoteAnswer:
    """An answer; a failure as one, for it goes on record like any other."""
    try:
        return await work
    except RemoteAgentError as failure:
        ids = {
            "context_id": of.get("context_id") or of.get("contextId"),
            "task_id": of.get("task_id") or of.get("taskId"),
        }
        return RemoteAnswer(state="lost", text=str(failure), context_id=ids["context_id"], task_id=ids["task_id"])
