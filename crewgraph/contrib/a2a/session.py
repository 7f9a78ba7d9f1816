"""A run's session with a remote agent: sends messages, and waits for answers by stream or by polls."""

import asyncio
import time
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing, suppress
from typing import Any

from a2a.compat.v0_3 import conversions as from_v0_3
from a2a.compat.v0_3 import types as v0_3
from a2a.types import StreamResponse, Task
from google.protobuf.json_format import ParseDict

from crewgraph.contrib.a2a.answer import ASKS_BACK, RemoteAnswer, is_final
from crewgraph.contrib.a2a.config import PollingConfig, PushNotificationConfig, RemoteAgent, StreamingConfig
from crewgraph.contrib.a2a.progress import TaskProgress, parts_text
from crewgraph.contrib.a2a.wire import RemoteClient, Unavailable
from crewgraph.errors import RemoteAgentError
from crewgraph.events.a2a import (
    A2AArtifactReceivedEvent,
    A2AMessageSentEvent,
    A2APollingStartedEvent,
    A2APollingStatusEvent,
    A2APushNotificationRegisteredEvent,
    A2APushNotificationTimeoutEvent,
    A2AResponseReceivedEvent,
    A2AStreamingChunkEvent,
    A2AStreamingStartedEvent,
    EventFields,
    emit_a2a_event,
)
from crewgraph.schema import PlainDict, PlainMapping

_FALLBACK_INTERVAL = 1.0
"""Seconds between polls when a remote agent that should stream cannot."""

_CANCEL_TIMEOUT = 5.0
"""Seconds allowed for cancelling a task whose result is no longer needed."""


class Session:
    """The session; all its coroutines must run on one event loop."""

    def __init__(self, remote: RemoteAgent) -> None:
        self._remote = remote
        self._client = RemoteClient(remote)
        self._card: PlainDict | None = None
        self._open: dict[str, _Exchange] = {}

    async def aclose(self) -> None:
        """Cancel the streams and close the connections."""
        for exchange in self._open.values():
            exchange.reading.cancel()
        await self._client.close()

    async def card(self, fields: EventFields) -> PlainDict:
        """Return the agent card, fetching it once.

        Raises:
            RemoteAgentError: If it cannot be reached or its card is not usable.
        """
        if self._card is None:
            self._card = await self._client.card(fields)
        return self._card

    async def send(self, card: PlainMapping, message: PlainMapping, fields: EventFields) -> RemoteAnswer:
        """Send a message; return the answer, or the state of the task that it started."""
        text, name = message["parts"][0]["text"], message["messageId"]
        emit_a2a_event(_source(fields), A2AMessageSentEvent, fields, message=text, message_id=name)
        context, task = message.get("contextId"), message.get("taskId")
        return await self._answer(self._send(card, message, fields), context, task, fields)

    async def follow(self, card: PlainMapping, started: RemoteAnswer, fields: EventFields) -> RemoteAnswer:
        """Wait until a task settles, and return its answer."""
        context, task = started["context_id"], str(started["task_id"])
        return await self._answer(self._follow(card, task, fields), context, task, fields)

    async def _answer(
        self, work: Coroutine[Any, Any, TaskProgress], context: str | None, task: str | None, fields: EventFields
    ) -> RemoteAnswer:
        """Return an answer; turn a failure into one, since the journal records failures like answers."""
        try:
            answer = (await work).answer
        except RemoteAgentError as failure:
            answer = RemoteAnswer(state="lost", text=str(failure), context_id=context, task_id=task)
        if is_final(answer):
            status, final = answer["state"].replace("-", "_"), answer["state"] not in ASKS_BACK
            emit_a2a_event(
                _source(fields),
                A2AResponseReceivedEvent,
                {**fields, "context_id": answer["context_id"]},
                response=answer["text"],
                status=status,
                final=final,
            )
        return answer

    async def _send(self, card: PlainMapping, message: PlainMapping, fields: EventFields) -> TaskProgress:
        updates = self._remote.updates
        is_streamed = isinstance(updates, StreamingConfig) and bool(card.get("capabilities", {}).get("streaming"))
        exchange = _Exchange(self._remote, self._client.send(card, message, fields), fields, is_streamed=is_streamed)
        try:
            async with asyncio.timeout(self._remote.timeout):
                await exchange.started.wait()
        except TimeoutError:
            exchange.reading.cancel()
            raise self._late("answer") from None
        progress = exchange.progress
        if progress.is_settled:
            return progress
        if progress.task_id is None:
            await exchange.reading
            raise RemoteAgentError(
                "the remote agent's stream ended before it named a task; it sent neither a message nor a task."
            )
        self._open[progress.task_id] = exchange
        if isinstance(updates, PushNotificationConfig):
            about = _with_ids(fields, progress)
            emit_a2a_event(self._remote, A2APushNotificationRegisteredEvent, about, callback_url=str(updates.url))
        return progress

    async def _follow(self, card: PlainMapping, task: str, fields: EventFields) -> TaskProgress:
        exchange = self._open.get(task)
        if exchange is None:
            return await self._poll(card, task, fields)
        try:
            async with asyncio.timeout(self._remote.timeout):
                with suppress(RemoteAgentError):  # the stream broke off; the task goes on
                    await exchange.reading
        except TimeoutError:
            await self._cancel(card, task, fields)
            raise self._late("finish its task") from None
        return exchange.progress if exchange.progress.is_settled else await self._poll(card, task, fields)

    async def _poll(self, card: PlainMapping, task: str, fields: EventFields) -> TaskProgress:
        """Ask for a task until it settles."""
        updates, polls = self._remote.updates, 0
        interval = _FALLBACK_INTERVAL if isinstance(updates, StreamingConfig) else updates.interval
        timeout = None if isinstance(updates, StreamingConfig) else updates.timeout
        seconds, start = self._remote.timeout if timeout is None else timeout, time.monotonic()
        max_polls = updates.max_polls if isinstance(updates, PollingConfig) else None
        fields = {**fields, "task_id": task}
        emit_a2a_event(self._remote, A2APollingStartedEvent, fields, polling_interval=interval)
        while True:
            progress, elapsed = TaskProgress(), time.monotonic() - start
            failure: RemoteAgentError | None = None
            try:
                progress = TaskProgress(await self._task(card, task, fields))
            except Unavailable as error:  # the task goes on: the next poll may get through
                failure = error
            except RemoteAgentError:
                await self._cancel(card, task, fields)
                raise
            polls += 1
            status = {"state": progress.state, "elapsed_seconds": elapsed, "poll_count": polls}
            emit_a2a_event(self._remote, A2APollingStatusEvent, _with_ids(fields, progress), **status)
            if progress.is_settled:
                return progress
            if elapsed + interval > seconds or polls == max_polls:
                break
            await asyncio.sleep(interval)
        if isinstance(updates, PushNotificationConfig):
            emit_a2a_event(self._remote, A2APushNotificationTimeoutEvent, fields, timeout_seconds=seconds)
        await self._cancel(card, task, fields)
        if failure is not None:
            raise failure
        raise RemoteAgentError(
            f"the remote agent `{card.get('name')}` did not finish its task within {elapsed:.3g} seconds and {polls} polls; "
            "the task was cancelled. Raise its `timeout` or that of `updates` to give it more time."
        )

    async def _task(self, card: PlainMapping, task: str, fields: EventFields) -> Task:
        updates = self._remote.updates
        if isinstance(updates, PushNotificationConfig) and updates.result_store is not None:
            stored = await updates.result_store.get_result(task)
            if stored is not None:
                return stored if isinstance(stored, Task) else _task_from(stored)
        length = updates.history_length if isinstance(updates, PollingConfig) else 1
        return await self._client.task(card, task, length, fields)

    async def _cancel(self, card: PlainMapping, task: str, fields: EventFields) -> None:
        with suppress(RemoteAgentError, TimeoutError):
            async with asyncio.timeout(_CANCEL_TIMEOUT):
                await self._client.cancel(card, task, fields)

    def _late(self, action: str) -> RemoteAgentError:
        seconds = self._remote.timeout
        return RemoteAgentError(
            f"the remote agent did not {action} within {seconds} seconds. Raise `timeout=` to give it more time."
        )


class _Exchange:
    """A message's results, read by an asyncio task as they arrive."""

    def __init__(
        self, remote: RemoteAgent, results: AsyncGenerator[StreamResponse], fields: EventFields, *, is_streamed: bool
    ) -> None:
        self.progress, self.started = TaskProgress(), asyncio.Event()
        self._remote, self._fields, self._chunks = remote, fields, 0
        if is_streamed:
            emit_a2a_event(remote, A2AStreamingStartedEvent, fields)
        self._is_streamed = is_streamed
        self.reading = asyncio.create_task(self._read(results))

    async def _read(self, results: AsyncGenerator[StreamResponse]) -> None:
        try:
            async with aclosing(results):
                async for result in results:
                    self.progress.take(result)
                    if self._is_streamed:
                        self._emit(result)
                    if self.progress.task_id is not None:
                        self.started.set()
                    if self.progress.is_settled:
                        return
        finally:
            self.started.set()

    def _emit(self, result: StreamResponse) -> None:
        """Emit the events of one streamed result."""
        about, update = _with_ids(self._fields, self.progress), result.artifact_update
        status = result.status_update.status if result.HasField("status_update") else result.task.status
        chunk = parts_text([*update.artifact.parts, *status.message.parts, *result.message.parts])
        more = {"chunk": chunk, "chunk_index": self._chunks, "final": self.progress.is_settled}
        self._chunks += 1
        emit_a2a_event(self._remote, A2AStreamingChunkEvent, about, **more)
        if result.HasField("artifact_update"):
            details = {
                "artifact_id": update.artifact.artifact_id,
                "artifact_name": update.artifact.name or None,
                "artifact_description": update.artifact.description or None,
                "size_bytes": len(chunk.encode()),
                "append": update.append,
                "last_chunk": update.last_chunk,
            }
            emit_a2a_event(self._remote, A2AArtifactReceivedEvent, about, **details)


def _with_ids(fields: EventFields, progress: TaskProgress) -> EventFields:
    return {**fields, "context_id": progress.context_id, "task_id": progress.task_id}


def _source(fields: EventFields) -> object:
    return fields["from_agent"]


def _task_from(stored: Any) -> Task:
    """Return the task that a receiver of notifications stored, in the JSON form of protocol 0.3 or 1.0, or as a model."""
    data = stored.model_dump(mode="json", by_alias=True) if hasattr(stored, "model_dump") else stored
    if str(data["status"]["state"]).startswith("TASK_STATE_"):
        return ParseDict(data, Task(), ignore_unknown_fields=True)
    return from_v0_3.to_core_task(v0_3.Task.model_validate(data))
