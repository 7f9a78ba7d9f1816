"""A client of one remote agent: a2a-sdk over HTTP, with the configured credentials, events, and errors that say what to do."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, contextmanager
from ipaddress import ip_address
from typing import cast
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
    Task,
    TaskPushNotificationConfig,
)
from a2a.utils.constants import AGENT_CARD_WELL_KNOWN_PATH
from a2a.utils.errors import A2AError
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from pydantic import BaseModel

from crewgraph.contrib.a2a.auth import ClientAuthScheme
from crewgraph.contrib.a2a.config import PollingConfig, PushNotificationConfig, RemoteAgent, StreamingConfig
from crewgraph.errors import RemoteAgentError
from crewgraph.events.a2a import (
    A2AAgentCardFetchedEvent,
    A2AAuthenticationFailedEvent,
    A2AConnectionErrorEvent,
    EventFields,
    emit_a2a_event,
)
from crewgraph.schema import PlainDict, PlainMapping
from crewgraph.text import shorten

_JSON_RPC = "JSONRPC"
_FETCH_CARD = "fetch_agent_card"
_MAX_ERROR_LENGTH = 500
_TEMPORARY = (408, 425, 429)  # statuses, besides those from 500 on
_UNREADABLE = (A2AError, AttributeError, KeyError, ParseError, RecursionError, TypeError, ValueError)
"""What a2a-sdk raises if a server refuses a request, or answers it with something else than the protocol has."""


class Unavailable(RemoteAgentError):
    """A request failed for a reason that may pass: a lost connection, no answer in time, an error of the server or of a proxy."""


class RemoteClient:
    """The client; all its coroutines must run on one event loop."""

    def __init__(self, remote: RemoteAgent) -> None:
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
        headers = ServiceParametersFactory.create([with_a2a_extensions(remote.requested_extensions)])
        self._context = ClientCallContext(service_parameters=headers)
        self._client: Client | None = None

    async def close(self) -> None:
        """Close the connections."""
        for http in filter(None, (self._http, self._token_http)):
            await http.aclose()

    async def card(self, fields: EventFields) -> PlainDict:
        """Fetch the remote agent's card.

        Raises:
            RemoteAgentError: If it cannot be fetched or is not usable.
        """
        start = time.monotonic()
        resolver = A2ACardResolver(self._http, _card_url(self._remote.endpoint))
        with self._reported(fields, _FETCH_CARD):
            async with asyncio.timeout(self._remote.timeout):
                card = await resolver.get_agent_card(relative_card_path="/")
            if not card.name:
                raise ValueError("a card without a name")
        self._connect(card)
        data = MessageToDict(card)
        emit_a2a_event(
            self._remote,
            A2AAgentCardFetchedEvent,
            fields,
            a2a_agent_name=card.name,
            agent_card=data,
            protocol_version=card.supported_interfaces[0].protocol_version,
            provider=data.get("provider"),
            fetch_time_ms=(time.monotonic() - start) * 1000,
        )
        return data

    def _connect(self, card: AgentCard) -> Client:
        """Return a client for the JSON-RPC address that a card names.

        Raises:
            RemoteAgentError: If there is none, or it is on another host.
        """
        for interface in card.supported_interfaces:
            if interface.protocol_binding == _JSON_RPC and not _is_same_host(interface.url, self._remote.endpoint):
                raise RemoteAgentError(
                    f"{self._where} names `{_public_url(interface.url)}` as its URL, on another host, which is not followed. "
                    "If that is intended, set `endpoint` to the card on that host."
                )
        updates = self._remote.updates
        config = ClientConfig(
            streaming=isinstance(updates, StreamingConfig),
            polling=True,
            httpx_client=self._http,
            accepted_output_modes=self._remote.output_modes,
            push_notification_config=_push_config(updates) if isinstance(updates, PushNotificationConfig) else None,
        )
        try:
            return ClientFactory(config).create(card)
        except ValueError:
            offers = {f"{item.protocol_binding} {item.protocol_version}" for item in card.supported_interfaces}
            raise RemoteAgentError(
                f"{self._where} does not serve JSON-RPC of protocol version 0.3 or 1.0; its card offers "
                f"{', '.join(sorted(offers)) or 'nothing'}."
            ) from None

    def _connected(self, card: PlainMapping) -> Client:
        if self._client is None:
            self._client = self._connect(ParseDict(dict(card), AgentCard(), ignore_unknown_fields=True))
        return self._client

    async def send(
        self, card: PlainMapping, message: PlainMapping, fields: EventFields
    ) -> AsyncGenerator[StreamResponse]:
        """Send a message in the JSON form of protocol 0.3; yield the results as they arrive.

        Raises:
            RemoteAgentError: If the request failed or the stream broke.
        """
        request = SendMessageRequest(message=from_v0_3.to_core_message(v0_3.Message.model_validate(message)))
        if isinstance(self._remote.updates, PollingConfig):
            request.configuration.history_length = self._remote.updates.history_length
        results = cast(
            "AsyncGenerator[StreamResponse]", self._connected(card).send_message(request, context=self._context)
        )
        with self._reported(fields, "send_message"):
            async with aclosing(results):
                async for result in results:
                    yield result

    async def task(self, card: PlainMapping, task: str, history_length: int, fields: EventFields) -> Task:
        """Return a task in its current state.

        Raises:
            RemoteAgentError: If the request failed.
        """
        request = GetTaskRequest(id=task, history_length=history_length)
        with self._reported(fields, "get_task"):
            async with asyncio.timeout(self._remote.timeout):
                return await self._connected(card).get_task(request, context=self._context)

    async def cancel(self, card: PlainMapping, task: str, fields: EventFields) -> None:
        """Cancel a task.

        Raises:
            RemoteAgentError: If the request failed.
        """
        with self._reported(fields, "cancel_task"):
            await self._connected(card).cancel_task(CancelTaskRequest(id=task), context=self._context)

    async def _check_request(self, request: httpx.Request) -> None:
        if not _is_same_host(str(request.url), self._remote.endpoint):
            raise RemoteAgentError(
                f"{self._where} redirects to `{_public_url(str(request.url))}`, on another host, which is not followed."
            )
        max_size = self._remote.transport.jsonrpc.max_request_size
        if max_size is not None and len(request.content) > max_size:
            raise RemoteAgentError(f"a request of {len(request.content)} bytes exceeds `max_request_size={max_size}`.")

    @contextmanager
    def _reported(self, fields: EventFields, operation: str) -> Generator[None]:
        """Turn what a2a-sdk raises into errors of ours, and emit their events."""
        try:
            yield
        except (*_UNREADABLE, httpx.HTTPError, TimeoutError) as failure:
            cause = (isinstance(failure, A2AError) and failure.__cause__) or failure
            raise self._error(cause, {**fields, "operation": operation}) from None

    def _error(self, cause: BaseException, fields: EventFields) -> RemoteAgentError:
        match cause:
            case httpx.HTTPStatusError():
                return self._status_error(cause.response.status_code, fields)
            case TimeoutError() | httpx.TimeoutException():
                error = f"{self._where} did not answer within {self._remote.timeout} seconds."
            case httpx.HTTPError():
                reason = f"{type(cause).__name__}: {cause}".rstrip(": .")
                error = f"{self._where} cannot be reached: {reason}. Check that it is running, and its endpoint."
            case _ if fields["operation"] == _FETCH_CARD:
                return RemoteAgentError(
                    f"{self._where} returned no agent card, that is a JSON object with a `name`. Check the endpoint."
                )
            case json.JSONDecodeError() | UnicodeDecodeError() | RecursionError():  # the latter: nested too deeply
                return Unavailable(f"{self._where} sent an answer that is not JSON-RPC.")
            case A2AError():
                return RemoteAgentError(f"{self._where} refused: {shorten(str(cause), _MAX_ERROR_LENGTH)}.")
            case _:
                return RemoteAgentError(f"{self._where} sent an answer that is neither a message nor a task.")
        emit_a2a_event(self._remote, A2AConnectionErrorEvent, fields, error=error, error_type=type(cause).__name__)
        return Unavailable(error)

    def _status_error(self, status: int, fields: EventFields) -> RemoteAgentError:
        auth = self._remote.auth
        if status in (401, 403):
            reason = f"it rejects `{type(auth).__name__}`" if auth else "it requires authentication, set `auth=`"
            error, kind = f"{self._where} denies access (status {status}): {reason}.", A2AAuthenticationFailedEvent
            more = {"auth_type": type(auth).__name__ if auth else None}
        else:
            error, kind, more = f"{self._where} answered with status {status}.", A2AConnectionErrorEvent, {}
        emit_a2a_event(self._remote, kind, fields, error=error, status_code=status, **more)
        return (Unavailable if status in _TEMPORARY or status >= 500 else RemoteAgentError)(error)


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


def _push_config(updates: PushNotificationConfig) -> TaskPushNotificationConfig:
    config = TaskPushNotificationConfig(url=str(updates.url), id=updates.id, token=updates.token)
    given = updates.authentication
    if given is not None:
        fields: PlainMapping = given.model_dump() if isinstance(given, BaseModel) else given
        schemes = fields["schemes"] if "schemes" in fields else [fields["scheme"]]
        if len(schemes) != 1:
            raise RemoteAgentError(f"`PushNotificationConfig(authentication=)` takes one scheme, not {schemes!r:.100}.")
        config.authentication.scheme, config.authentication.credentials = schemes[0], fields.get("credentials") or ""
    return config


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
