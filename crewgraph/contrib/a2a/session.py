"""Sessions with remote agents, on a dedicated event loop that sync and async runs in any thread share."""

import asyncio
import time
from collections.abc import Coroutine, Generator, Mapping
from contextlib import aclosing, contextmanager, suppress
from typing import Any, TypeVar

from crewgraph.contrib.a2a.answer import RemoteAnswer, TaskProgress, message_text, parts_of
from crewgraph.contrib.a2a.config import PollingConfig, PushNotificationConfig, RemoteAgent, StreamingConfig
from crewgraph.contrib.a2a.wire import EventFields, RemoteClient, Unavailable, emit_a2a_event, supports_streaming
from crewgraph.core.loops.threads import LoopThread
from crewgraph.core.resources import RESOURCES
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
from crewgraph.schema import PlainDict, PlainMapping

__all__ = ["afetch_card", "afollow_task", "asend_message", "fetch_card", "follow_task", "send_message"]

T = TypeVar("T")

_loop = LoopThread("crewgraph-a2a")
_FALLBACK_INTERVAL = 1.0
"""Seconds between polls when a remote agent that should stream cannot."""

_CANCEL_TIMEOUT = 5.0
"""Seconds allowed for cancelling a task whose result is no longer needed."""


class _Session:
    """One run's session with a remote agent: its card, its connections and its open streams."""

    def __init__(self, remote: RemoteAgent) -> None:
        self._remote = remote
        self._opened: RemoteClient | None = None
        self._card: dict[str, object] | None = None
        self._streams: dict[str, _TaskStream] = {}

    def close(self) -> None:
        """Close the session in the background."""
        _loop.begin(self.aclose())

    async def aclose(self) -> None:
        """Cancel the streams and close the connections."""
        for stream in self._streams.values():
            stream.task.cancel()
        if self._opened is not None:
            await self._opened.close()

    @property
    def _client(self) -> RemoteClient:
        self._opened = self._opened or RemoteClient(self._remote)
        return self._opened

    async def card(self, fields: EventFields) -> dict[str, object]:
        """Return the agent card, fetching it once."""
        if self._card is None:
            self._card = await self._client.card(fields)
        return self._card

    async def send(self, card: PlainMapping, message: PlainMapping, fields: EventFields) -> RemoteAnswer:
        """Send a message; return the answer, or the state of the task that it started."""
        updates = self._remote.updates
        if isinstance(updates, StreamingConfig) and supports_streaming(card):
            return await self._listen(card, message, fields)
        progress, events = TaskProgress(), _TaskEvents(self._remote, fields)
        progress.take(await self._client.call(card, "message/send", self._params(message), fields))
        if isinstance(updates, PushNotificationConfig) and not progress.is_settled:
            emit_a2a_event(
                self._remote,
                A2APushNotificationRegisteredEvent,
                events.with_ids(progress),
                callback_url=str(updates.url),
            )
        return progress.answer

    def _params(self, message: Mapping[str, object], **settings: object) -> dict[str, object]:
        updates = self._remote.updates
        settings = {"acceptedOutputModes": self._remote.output_modes, "blocking": False, **settings}
        if isinstance(updates, PollingConfig):
            settings["historyLength"] = updates.history_length
        if isinstance(updates, PushNotificationConfig):
            fields = {"id": updates.id, "token": updates.token, "authentication": _plain(updates.authentication)}
            set_fields = {name: value for name, value in fields.items() if value is not None}
            settings["pushNotificationConfig"] = {"url": str(updates.url), **set_fields}
        return {"message": message, "configuration": settings}

    async def _listen(
        self, card: Mapping[str, object], message: Mapping[str, object], fields: EventFields
    ) -> RemoteAnswer:
        params = self._params(message)
        stream = _TaskStream(_TaskEvents(self._remote, fields))
        results = self._client.stream(card, "message/stream", params, fields)
        stream.task = asyncio.create_task(stream.consume(results))
        await self._within_timeout(stream.started.wait(), "start its task")
        if stream.task.done():
            return stream.answer()
        self._streams[str(stream.progress.task_id)] = stream
        return stream.progress.answer

    async def follow(
        self, card: Mapping[str, object], task: str, context: str | None, fields: EventFields
    ) -> RemoteAnswer:
        """Wait until a task settles, and return its answer."""
        stream = self._streams.pop(task, None)
        if stream is None:
            return await self._poll_until_settled(card, task, fields)
        try:
            await self._within_timeout(asyncio.wait([stream.task]), "finish its task")
        except RemoteAgentError:
            stream.task.cancel()
            await self._cancel(card, task, fields)
            raise
        if stream.progress.is_settled:
            return stream.progress.answer
        return await self._poll_until_settled(card, task, fields)  # the stream broke off

    async def _poll_until_settled(self, card: Mapping[str, object], task: str, fields: EventFields) -> RemoteAnswer:
        updates, polls = self._remote.updates, 0
        interval = _FALLBACK_INTERVAL if isinstance(updates, StreamingConfig) else updates.interval
        timeout = None if isinstance(updates, StreamingConfig) else updates.timeout
        seconds, start = self._remote.timeout if timeout is None else timeout, time.monotonic()
        max_polls = updates.max_polls if isinstance(updates, PollingConfig) else None
        events = _TaskEvents(self._remote, {**fields, "task_id": task})
        emit_a2a_event(self._remote, A2APollingStartedEvent, events.fields, polling_interval=interval)
        while True:
            progress, elapsed = TaskProgress(), time.monotonic() - start
            failure: RemoteAgentError | None = None
            try:
                progress.take(await self._poll(card, task, fields))
            except Unavailable as error:  # the task goes on: the next poll may get through
                failure = error
            except RemoteAgentError:
                await self._cancel(card, task, fields)
                raise
            polls += 1
            status = {"state": progress.state, "elapsed_seconds": elapsed, "poll_count": polls}
            emit_a2a_event(self._remote, A2APollingStatusEvent, events.with_ids(progress), **status)
            if progress.is_settled:
                return progress.answer
            if elapsed + interval > seconds or polls == max_polls:
                break
            await asyncio.sleep(interval)
        if isinstance(updates, PushNotificationConfig):
            emit_a2a_event(self._remote, A2APushNotificationTimeoutEvent, events.fields, timeout_seconds=seconds)
        await self._cancel(card, task, fields)
        if failure is not None:
            raise failure
        raise RemoteAgentError(
            f"the remote agent `{card.get('name')}` did not finish its task within {elapsed:.3g} seconds and {polls} polls; "
            "the task was cancelled. Raise its `timeout` or that of `updates` to give it more time."
        )

    async def _poll(self, card: PlainMapping, task: str, fields: EventFields) -> Mapping[str, object]:
        updates = self._remote.updates
        if isinstance(updates, PushNotificationConfig) and updates.result_store is not None:
            stored = await updates.result_store.get_result(task)
            if stored is not None:
                return _plain(stored)
        length = updates.history_length if isinstance(updates, PollingConfig) else 1
        return await self._client.call(card, "tasks/get", {"id": task, "historyLength": length}, fields)

    async def _within_timeout(self, coroutine: Coroutine[object, object, T], action: str) -> T:
        try:
            async with asyncio.timeout(self._remote.timeout):
                return await coroutine
        except TimeoutError:
            raise RemoteAgentError(
                f"the remote agent did not {action} within {self._remote.timeout} seconds. Raise `timeout=` to give it more time."
            ) from None

    async def _cancel(self, card: Mapping[str, object], task: str, fields: EventFields) -> None:
        with suppress(RemoteAgentError, TimeoutError):
            async with asyncio.timeout(_CANCEL_TIMEOUT):
                await self._client.call(card, "tasks/cancel", {"id": task}, fields)


class _TaskEvents:
    """Emits the events of one message's task."""

    def __init__(self, remote: RemoteAgent, fields: EventFields) -> None:
        self.remote, self.fields, self._chunks = remote, fields, 0

    def with_ids(self, progress: TaskProgress) -> dict[str, object]:
        """Return the event fields with the ids known so far."""
        return {**self.fields, "context_id": progress.context_id, "task_id": progress.task_id}

    def emit_result(self, result: PlainMapping, progress: TaskProgress) -> None:
        """Emit the events of one streamed result."""
        artifact: PlainMapping | None = result.get("artifact")
        status: PlainMapping = result.get("status") or {}
        chunk = message_text(parts_of(artifact or status.get("message") or result))
        more = {"chunk": chunk, "chunk_index": self._chunks, "final": bool(result.get("final") or progress.is_settled)}
        self._chunks += 1
        emit_a2a_event(self.remote, A2AStreamingChunkEvent, self.with_ids(progress), **more)
        if artifact:
            details = {
                "artifact_id": str(artifact.get("artifactId") or ""),
                "artifact_name": artifact.get("name"),
                "artifact_description": artifact.get("description"),
                "size_bytes": len(chunk.encode()),
                "append": bool(result.get("append")),
                "last_chunk": bool(result.get("lastChunk")),
            }
            emit_a2a_event(self.remote, A2AArtifactReceivedEvent, self.with_ids(progress), **details)


class _TaskStream:
    """A result stream, read by its own asyncio task until it ends."""

    task: "asyncio.Task[None]"

    def __init__(self, events: _TaskEvents) -> None:
        self.progress, self.started = TaskProgress(), asyncio.Event()
        self._events = events
        self._failure: RemoteAgentError | None = None

    async def consume(self, results: Any) -> None:
        """Consume the stream."""
        emit_a2a_event(self._events.remote, A2AStreamingStartedEvent, self._events.fields)
        try:
            async with aclosing(results):
                async for result in results:
                    self.progress.take(result)
                    self._events.emit_result(result, self.progress)
                    if self.progress.task_id is not None:
                        self.started.set()
                    if self.progress.is_settled:
                        return
        except RemoteAgentError as failure:
            self._failure = failure  # raised only if the stream named no task
        finally:
            self.started.set()

    def answer(self) -> RemoteAnswer:
        """Return the answer so far.

        Raises:
            RemoteAgentError: If the stream failed before it named a task.
        """
        if self.progress.task_id is None and not self.progress.is_settled:
            raise self._failure or RemoteAgentError("the remote agent's stream ended before it named a task.")
        return self.progress.answer


def _plain(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    return dump(mode="json", by_alias=True, exclude_none=True) if callable(dump) else value


@contextmanager
def _session_for(remote: RemoteAgent) -> Generator[_Session]:
    """Yield the run's session, which stays open; outside a run, a session that closes afterwards."""
    resources = RESOURCES.get()
    if resources is not None:
        yield resources.of(("a2a", id(remote)), lambda: _Session(remote))
        return
    session = _Session(remote)
    try:
        yield session
    finally:
        session.close()


def fetch_card(remote: RemoteAgent, fields: EventFields) -> PlainDict:
    """Return a remote agent's card.

    Raises:
        RemoteAgentError: If it cannot be reached or its card is not usable.
    """
    with _session_for(remote) as session:
        return _loop.run(session.card(fields))


async def afetch_card(remote: RemoteAgent, fields: EventFields) -> PlainDict:
    """Async version of `fetch_card`."""
    with _session_for(remote) as session:
        return await _loop.arun(session.card(fields))


def send_message(
    remote: RemoteAgent, card: Mapping[str, object], message: Mapping[str, object], fields: EventFields
) -> RemoteAnswer:
    """Send a message; return the answer, or the state of the task that it started."""
    with _session_for(remote) as session:
        return _loop.run(_answer_or_lost(session.send(card, message, fields), message))


async def asend_message(
    remote: RemoteAgent, card: Mapping[str, object], message: Mapping[str, object], fields: EventFields
) -> RemoteAnswer:
    """Async version of `send_message`."""
    with _session_for(remote) as session:
        return await _loop.arun(_answer_or_lost(session.send(card, message, fields), message))


def follow_task(
    remote: RemoteAgent, card: Mapping[str, object], started: RemoteAnswer, fields: EventFields
) -> RemoteAnswer:
    """Wait for the answer of a task that a message started."""
    with _session_for(remote) as session:
        return _loop.run(
            _answer_or_lost(session.follow(card, str(started["task_id"]), started["context_id"], fields), started)
        )


async def afollow_task(
    remote: RemoteAgent, card: Mapping[str, object], started: RemoteAnswer, fields: EventFields
) -> RemoteAnswer:
    """Async version of `follow_task`."""
    with _session_for(remote) as session:
        return await _loop.arun(
            _answer_or_lost(session.follow(card, str(started["task_id"]), started["context_id"], fields), started)
        )


async def _answer_or_lost(coroutine: Coroutine[Any, Any, RemoteAnswer], request: PlainMapping) -> RemoteAnswer:
    """Return the answer; turn a failure into one, since the journal records failures like answers."""
    try:
        return await coroutine
    except RemoteAgentError as failure:
        ids = {
            "context_id": request.get("context_id") or request.get("contextId"),
            "task_id": request.get("task_id") or request.get("taskId"),
        }
        return RemoteAnswer(state="lost", text=str(failure), context_id=ids["context_id"], task_id=ids["task_id"])
