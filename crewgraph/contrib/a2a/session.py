"""A run's session with a remote agent: a2a-sdk over HTTP, and errors that say what to do."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Coroutine, Generator
from contextlib import aclosing, contextmanager, suppress
from ipaddress import ip_address
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

import httpx
from a2a.client import A2ACardResolver, Client, ClientCallContext, ClientConfig, ClientFactory
from a2a.client.service_parameters import ServiceParametersFactory, with_a2a_extensions
from a2a.compat.v0_3 import conversions as from_v0_3
from a2a.compat.v0_3 import types as v0_3
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    GetTaskRequest,
    SendMessageRequest,
    StreamResponse,
    TaskPushNotificationConfig,
)
from a2a.utils.constants import AGENT_CARD_WELL_KNOWN_PATH
from a2a.utils.errors import A2AError
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from pydantic import BaseModel

from crewgraph.contrib.a2a.answer import RemoteAnswer, is_final
from crewgraph.contrib.a2a.auth import ClientAuthScheme
from crewgraph.contrib.a2a.config import A2AClientConfig, PollingConfig, PushNotificationConfig, StreamingConfig
from crewgraph.contrib.a2a.progress import TaskProgress, parts_text
from crewgraph.errors import RemoteAgentError
from crewgraph.events.a2a import A2AStreamingChunkEvent, EventFields, emit_a2a_event
from crewgraph.schema import PlainDict, PlainMapping
from crewgraph.text import shorten

_FALLBACK_INTERVAL = 1.0
"""Seconds between polls when a remote agent that should stream cannot."""

_CANCEL_TIMEOUT = 5.0
"""Seconds allowed for cancelling a task whose result is no longer needed."""

_MAX_ERROR_LENGTH = 500
_TEMPORARY = (408, 425, 429)  # statuses, besides those from 500 on
_UNREADABLE = (A2AError, AttributeError, KeyError, ParseError, RecursionError, TypeError, ValueError)
"""What a2a-sdk raises if a server refuses a request, or answers it with something else than the protocol has."""


class _Unavailable(RemoteAgentError):
    """A request failed for a reason that may pass: a lost connection, no answer in time, an error of the server or of a proxy."""


class Session:
    """The session; all its coroutines must run on one event loop."""

    def __init__(self, remote: A2AClientConfig) -> None:
        self._remote, auth = remote, remote.auth
        self._where = f"the remote agent at `{_public_url(remote.endpoint)}`"
        tls = auth.tls.get_httpx_ssl_context() if auth and auth.tls else True
        self._http = httpx.AsyncClient(
            timeout=remote.timeout,
            verify=tls,
            follow_redirects=True,
            event_hooks={"request": [self._check_request]},
        )
        self._token_http = httpx.AsyncClient(timeout=remote.timeout, verify=tls) if auth else None
        if auth and self._token_http:
            self._http.auth = _SchemeAuth(auth, self._token_http)
            auth.configure_client(self._http)
        headers = ServiceParametersFactory.create([with_a2a_extensions(remote.extensions)])
        self._context = ClientCallContext(service_parameters=headers)
        self._card: PlainDict | None = None
        self._client: Client | None = None
        self._open: dict[str, _Exchange] = {}

    async def aclose(self) -> None:
        """Cancel the streams and close the connections."""
        for exchange in self._open.values():
            exchange.reading.cancel()
        for http in filter(None, (self._http, self._token_http)):
            await http.aclose()

    async def card(self) -> PlainDict:
        """Return the agent card, fetching it once.

        Raises:
            RemoteAgentError: If it cannot be fetched or is not usable.
        """
        if self._card is None:
            resolver = A2ACardResolver(self._http, _card_url(self._remote.endpoint))
            with self._explained(is_card=True):
                async with asyncio.timeout(self._remote.timeout):
                    card = await resolver.get_agent_card(relative_card_path="/")
                if not card.name:
                    raise ValueError("a card without a name")
            self._connect(card)
            self._card = MessageToDict(card)
        return self._card

    async def send(self, card: PlainMapping, message: PlainMapping, fields: EventFields) -> RemoteAnswer:
        """Send a message in the JSON form of protocol 0.3; return the answer, or the state of the task that it started."""
        return await self._answer(self._send(card, message, fields), message.get("contextId"), message.get("taskId"))

    async def follow(self, card: PlainMapping, started: RemoteAnswer) -> RemoteAnswer:
        """Wait until a task settles, and return its answer."""
        return await self._answer(
            self._follow(card, str(started["task_id"])), started["context_id"], started["task_id"]
        )

    async def ask(self, card: PlainMapping, message: PlainMapping, fields: EventFields) -> RemoteAnswer:
        """Send a message, and wait for the answer."""
        answer = await self.send(card, message, fields)
        return answer if is_final(answer) else await self.follow(card, answer)

    async def _answer(
        self, work: Coroutine[Any, Any, TaskProgress], context: str | None, task: str | None
    ) -> RemoteAnswer:
        """Return an answer; turn a failure into one, since the journal records failures like answers."""
        try:
            return (await work).answer
        except RemoteAgentError as failure:
            return RemoteAnswer(state="lost", text=str(failure), context_id=context, task_id=task)

    async def _send(self, card: PlainMapping, message: PlainMapping, fields: EventFields) -> TaskProgress:
        is_streamed = isinstance(self._remote.updates, StreamingConfig) and bool(
            card.get("capabilities", {}).get("streaming")
        )
        exchange = _Exchange(self._results(card, message), self._remote, fields, is_streamed=is_streamed)
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
        return progress

    async def _results(self, card: PlainMapping, message: PlainMapping) -> AsyncGenerator[StreamResponse]:
        """Send a message; yield the results as they arrive."""
        request = SendMessageRequest(message=from_v0_3.to_core_message(v0_3.Message.model_validate(message)))
        if isinstance(self._remote.updates, PollingConfig):
            request.configuration.history_length = self._remote.updates.history_length
        sent = self._connected(card).send_message(request, context=self._context)
        with self._explained():
            async with aclosing(cast("AsyncGenerator[StreamResponse]", sent)) as results:
                async for result in results:
                    yield result

    async def _follow(self, card: PlainMapping, task: str) -> TaskProgress:
        exchange = self._open.get(task)
        if exchange is None:
            return await self._poll(card, task)
        try:
            async with asyncio.timeout(self._remote.timeout):
                with suppress(RemoteAgentError):  # the stream broke off; the task goes on
                    await exchange.reading
        except TimeoutError:
            await self._cancel(card, task)
            raise self._late("finish its task") from None
        return exchange.progress if exchange.progress.is_settled else await self._poll(card, task)

    async def _poll(self, card: PlainMapping, task: str) -> TaskProgress:
        """Ask for a task until it settles."""
        updates, polls = self._remote.updates, 0
        interval = _FALLBACK_INTERVAL if isinstance(updates, StreamingConfig) else updates.interval
        timeout = None if isinstance(updates, StreamingConfig) else updates.timeout
        seconds, start = self._remote.timeout if timeout is None else timeout, time.monotonic()
        max_polls, length = (
            (updates.max_polls, updates.history_length) if isinstance(updates, PollingConfig) else (None, 1)
        )
        client, request = self._connected(card), GetTaskRequest(id=task, history_length=length)
        while True:
            elapsed = time.monotonic() - start
            failure: RemoteAgentError | None = None
            try:
                with self._explained():
                    async with asyncio.timeout(self._remote.timeout):
                        progress = TaskProgress(await client.get_task(request, context=self._context))
                if progress.is_settled:
                    return progress
            except _Unavailable as error:  # the task goes on: the next poll may get through
                failure = error
            except RemoteAgentError:
                await self._cancel(card, task)
                raise
            polls += 1
            if elapsed + interval > seconds or polls == max_polls:
                break
            await asyncio.sleep(interval)
        await self._cancel(card, task)
        if failure is not None:
            raise failure
        raise RemoteAgentError(
            f"the remote agent `{card.get('name')}` did not finish its task within {elapsed:.3g} seconds and {polls} polls; "
            "the task was cancelled. Raise its `timeout` or that of `updates` to give it more time."
        )

    async def _cancel(self, card: PlainMapping, task: str) -> None:
        with suppress(RemoteAgentError), self._explained():
            async with asyncio.timeout(_CANCEL_TIMEOUT):
                await self._connected(card).cancel_task(CancelTaskRequest(id=task), context=self._context)

    def _late(self, action: str) -> RemoteAgentError:
        seconds = self._remote.timeout
        return RemoteAgentError(
            f"the remote agent did not {action} within {seconds} seconds. Raise `timeout=` to give it more time."
        )

    def _connected(self, card: PlainMapping) -> Client:
        if self._client is None:
            self._client = self._connect(ParseDict(dict(card), AgentCard(), ignore_unknown_fields=True))
        return self._client

    def _connect(self, card: AgentCard) -> Client:
        """Return a client for the JSON-RPC address that a card names.

        Raises:
            RemoteAgentError: If there is none, or it is on another host.
        """
        for interface in card.supported_interfaces:
            if interface.protocol_binding == "JSONRPC" and not _is_same_host(interface.url, self._remote.endpoint):
                raise RemoteAgentError(
                    f"{self._where} names `{_public_url(interface.url)}` as its URL, on another host, which is not followed. "
                    "If that is intended, set `endpoint` to the card on that host."
                )
        updates, push = self._remote.updates, None
        if isinstance(updates, PushNotificationConfig):
            push = TaskPushNotificationConfig(
                url=str(updates.url),
                id=updates.id,
                token=updates.token,
                authentication=_authentication(updates.authentication),
            )
        config = ClientConfig(
            streaming=isinstance(updates, StreamingConfig),
            polling=True,
            httpx_client=self._http,
            accepted_output_modes=self._remote.accepted_output_modes,
            push_notification_config=push,
        )
        try:
            return ClientFactory(config).create(card)
        except ValueError:
            offers = {f"{item.protocol_binding} {item.protocol_version}" for item in card.supported_interfaces}
            raise RemoteAgentError(
                f"{self._where} does not serve JSON-RPC of protocol version 0.3 or 1.0; its card offers "
                f"{', '.join(sorted(offers)) or 'nothing'}."
            ) from None

    async def _check_request(self, request: httpx.Request) -> None:
        if not _is_same_host(str(request.url), self._remote.endpoint):
            raise RemoteAgentError(
                f"{self._where} redirects to `{_public_url(str(request.url))}`, on another host, which is not followed."
            )

    @contextmanager
    def _explained(self, *, is_card: bool = False) -> Generator[None]:
        """Turn what a2a-sdk raises into errors that say what to do."""
        try:
            yield
        except (*_UNREADABLE, httpx.HTTPError, TimeoutError) as failure:
            raise self._error((isinstance(failure, A2AError) and failure.__cause__) or failure, is_card) from None

    def _error(self, cause: BaseException, is_card: bool) -> RemoteAgentError:
        match cause:
            case httpx.HTTPStatusError():
                return self._status_error(cause.response.status_code)
            case TimeoutError() | httpx.TimeoutException():
                return _Unavailable(f"{self._where} did not answer within {self._remote.timeout} seconds.")
            case httpx.HTTPError():
                reason = f"{type(cause).__name__}: {cause}".rstrip(": .")
                return _Unavailable(
                    f"{self._where} cannot be reached: {reason}. Check that it is running, and its endpoint."
                )
            case _ if is_card:
                return RemoteAgentError(
                    f"{self._where} returned no agent card, that is a JSON object with a `name`. Check the endpoint."
                )
            case json.JSONDecodeError() | UnicodeDecodeError() | RecursionError():  # the latter: nested too deeply
                return _Unavailable(f"{self._where} sent an answer that is not JSON-RPC.")
            case A2AError():
                return RemoteAgentError(f"{self._where} refused: {shorten(str(cause), _MAX_ERROR_LENGTH)}.")
            case _:
                return RemoteAgentError(f"{self._where} sent an answer that is neither a message nor a task.")

    def _status_error(self, status: int) -> RemoteAgentError:
        auth = self._remote.auth
        if status in (401, 403):
            reason = f"it rejects `{type(auth).__name__}`" if auth else "it requires authentication, set `auth=`"
            return RemoteAgentError(f"{self._where} denies access (status {status}): {reason}.")
        kind = _Unavailable if status in _TEMPORARY or status >= 500 else RemoteAgentError
        return kind(f"{self._where} answered with status {status}.")


class _Exchange:
    """A message's results, read by an asyncio task as they arrive."""

    def __init__(
        self, results: AsyncGenerator[StreamResponse], source: object, fields: EventFields, *, is_streamed: bool
    ) -> None:
        self.progress, self.started = TaskProgress(), asyncio.Event()
        self._source, self._fields, self._is_streamed = source, fields, is_streamed
        self.reading = asyncio.create_task(self._read(results))

    async def _read(self, results: AsyncGenerator[StreamResponse]) -> None:
        chunks = 0
        try:
            async with aclosing(results):
                async for result in results:
                    self.progress.take(result)
                    if self._is_streamed:
                        self._emit(result, chunks)
                        chunks += 1
                    if self.progress.task_id is not None:
                        self.started.set()
                    if self.progress.is_settled:
                        return
        finally:
            self.started.set()

    def _emit(self, result: StreamResponse, index: int) -> None:
        progress = self.progress
        status = result.status_update.status if result.HasField("status_update") else result.task.status
        parts = [*result.artifact_update.artifact.parts, *status.message.parts, *result.message.parts]
        emit_a2a_event(
            self._source,
            A2AStreamingChunkEvent,
            {**self._fields, "context_id": progress.context_id, "task_id": progress.task_id},
            chunk=parts_text(parts),
            chunk_index=index,
            final=progress.is_settled,
        )


class _SchemeAuth(httpx.Auth):
    """Adds the credentials of a scheme to each request; asks for new ones once if a server rejects them.

    Args:
        scheme: The scheme.
        http: The client that fetches tokens, which has no credentials itself.
    """

    def __init__(self, scheme: ClientAuthScheme, http: httpx.AsyncClient) -> None:
        self._scheme, self._http = scheme, http

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Yield the request, and yield it again with new credentials if the old ones were rejected."""
        request.headers.update(await self._scheme.apply_auth(self._http, request.headers))
        response = yield request
        if response.status_code == 401 and self._scheme.forget():
            request.headers.update(await self._scheme.apply_auth(self._http, request.headers))
            yield request


def _authentication(given: Any) -> PlainDict | None:
    """Return how a remote agent authenticates to a webhook, which protocol 0.3 writes with a list of schemes.

    Raises:
        RemoteAgentError: If there is not one scheme.
    """
    if given is None:
        return None
    fields: PlainDict = given.model_dump() if isinstance(given, BaseModel) else dict(given)
    schemes = fields["schemes"] if "schemes" in fields else [fields.get("scheme")]
    if len(schemes) != 1 or not isinstance(schemes[0], str):
        raise RemoteAgentError(f"`PushNotificationConfig(authentication=)` takes one scheme, not {schemes!r:.100}.")
    return {"scheme": schemes[0], "credentials": fields.get("credentials")}


def _public_url(address: str) -> str:
    """Return a URL without credentials, query and fragment."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _card_url(endpoint: str) -> str:
    parts = urlsplit(endpoint)
    if "/.well-known/" in parts.path or parts.path.endswith(".json"):
        return endpoint
    return urlunsplit(parts._replace(path=parts.path.rstrip("/") + AGENT_CARD_WELL_KNOWN_PATH))


def _is_same_host(first: str, second: str) -> bool:
    """Return whether two URLs have the same host; all local host names count as the same."""
    first_host, second_host = (urlsplit(url).hostname or "" for url in (first, second))
    return first_host == second_host or (_is_local(first_host) and _is_local(second_host))


def _is_local(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback or ip_address(host).is_unspecified
    except ValueError:
        return False
