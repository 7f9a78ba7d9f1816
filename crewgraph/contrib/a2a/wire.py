"""HTTP client of one remote agent: fetches its card, sends JSON-RPC requests, and emits events for both."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import httpx

from crewgraph.contrib.a2a.config import RemoteAgent
from crewgraph.errors import RemoteAgentError
from crewgraph.events.a2a import (
    A2AAgentCardFetchedEvent,
    A2AAuthenticationFailedEvent,
    A2AConnectionErrorEvent,
    A2AEventBase,
)
from crewgraph.events.bus import crewai_event_bus
from crewgraph.schema import PlainDict, PlainMapping
from crewgraph.text import shorten

__all__ = [
    "EventFields",
    "RemoteClient",
    "Unavailable",
    "card_urls",
    "emit_a2a_event",
    "is_same_host",
    "parse_card",
    "public_url",
    "rpc_url",
    "supports_streaming",
]

EventFields = Mapping[str, Any]
"""Fields shared by all events of a message: endpoint, a2a_agent_name, from_agent, from_task, turn_number and the like."""


def emit_a2a_event(source: object, event: type[A2AEventBase], fields: EventFields, **more: Any) -> None:
    """Emit an event if anything listens for its type; fields that the event class lacks are dropped."""
    if crewai_event_bus.wants(event):
        known = {name: value for name, value in fields.items() if name in event.model_fields}
        crewai_event_bus.emit(source, event(**{**known, **more}))


_CARDS = ("/.well-known/agent-card.json", "/.well-known/agent.json")
"""Well-known paths of agent cards, in current and older versions of the protocol."""

_CARD_FIELDS = ("name", "description", "url", "version", "protocolVersion", "preferredTransport", "provider", "skills")
_CARD_DETAILS = ("additionalInterfaces", "capabilities", "security", "securitySchemes", "defaultInputModes")


def public_url(address: str) -> str:
    """Return a URL without credentials, query and fragment."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def card_urls(endpoint: str) -> list[str]:
    """Return the URLs to try for an endpoint's card, in order."""
    parts = urlsplit(endpoint)
    if "/.well-known/" in parts.path or parts.path.endswith(".json"):
        return [endpoint]
    base = parts.path.rstrip("/")
    return [urlunsplit(parts._replace(path=base + path)) for path in _CARDS]


def is_same_host(first: str, second: str) -> bool:
    """Return whether two URLs have the same host; all local host names count as the same."""
    first_host, second_host = (urlsplit(url).hostname or "" for url in (first, second))
    return first_host == second_host or (_is_local(first_host) and _is_local(second_host))


def _is_local(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback or ip_address(host).is_unspecified
    except ValueError:
        return False


def parse_card(value: Any, endpoint: str) -> PlainDict:
    """Validate a card that a server returned and keep the fields that crewgraph uses.

    Raises:
        RemoteAgentError: If it is not a card, points to another host, or offers no JSON-RPC.
    """
    where = f"the remote agent at `{public_url(endpoint)}`"
    if not isinstance(value, Mapping) or not isinstance(cast("PlainMapping", value).get("name"), str):
        raise RemoteAgentError(
            f"{where} returned no agent card, that is a JSON object with a `name`. Check the endpoint."
        )
    fields = cast("PlainMapping", value)
    card = {name: fields[name] for name in (*_CARD_FIELDS, *_CARD_DETAILS) if name in fields}
    rpc_url(card, endpoint)
    return card


def rpc_url(card: Mapping[str, object], endpoint: str) -> str:
    """Return the URL at which a remote agent serves JSON-RPC.

    Raises:
        RemoteAgentError: If there is none, or it is on another host than the card.
    """
    where = f"the remote agent at `{public_url(endpoint)}`"
    interfaces = cast("list[PlainMapping]", card.get("additionalInterfaces") or [])
    offered = [(str(card.get("preferredTransport") or "JSONRPC"), str(card.get("url") or ""))]
    offered += [(str(item.get("transport")), str(item.get("url") or "")) for item in interfaces]
    address = next((url for transport, url in offered if transport == "JSONRPC" and url), None)
    if address is None:
        transports = (
            ", ".join(sorted({transport for transport, url in offered if url}))
            or "no transport of protocol versions 0.2 and 0.3"
        )
        raise RemoteAgentError(f"{where} does not serve JSON-RPC; its card offers {transports}.")
    if urlsplit(address).scheme not in ("http", "https"):
        raise RemoteAgentError(f"{where} names {address!r:.80} as its URL, which is not an http(s):// URL.")
    if not is_same_host(address, endpoint):
        raise RemoteAgentError(
            f"{where} names `{public_url(address)}` as its URL, on another host, which is not followed. If that is "
            "intended, set `endpoint` to the card on that host."
        )
    return address


def supports_streaming(card: Mapping[str, object]) -> bool:
    """Return whether a card announces streaming."""
    return bool(cast("PlainMapping", card.get("capabilities") or {}).get("streaming"))


_MAX_REDIRECTS = 3
_TEMPORARY = (408, 425, 429)  # statuses, besides those from 500 on
_MAX_ERROR_LENGTH = 500


class Unavailable(RemoteAgentError):
    """A request failed for a reason that may pass: a lost connection, no answer in time, an error of the server or of a proxy."""


class RemoteClient:
    """HTTP client of a remote agent; all its coroutines must run on one event loop."""

    def __init__(self, remote: RemoteAgent) -> None:
        self._remote = remote
        self._where = f"the remote agent at `{public_url(remote.endpoint)}`"
        tls = remote.auth.tls if remote.auth else None
        self._client = httpx.AsyncClient(
            timeout=remote.timeout, verify=tls.get_httpx_ssl_context() if tls else True, follow_redirects=False
        )
        if remote.auth is not None:
            remote.auth.configure_client(self._client)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def card(self, fields: EventFields) -> PlainDict:
        """Fetch the remote agent's card.

        Raises:
            RemoteAgentError: If it cannot be fetched or is not usable.
        """
        start = time.monotonic()
        error_fields = {**fields, "operation": "fetch_agent_card"}
        first, *fallbacks = card_urls(self._remote.endpoint)
        async with self._connection_errors(error_fields), asyncio.timeout(self._remote.timeout):
            answer = await self._get(first)
            for address in fallbacks:
                answer = await self._get(address) if answer.status_code == 404 else answer
        self._check(answer, error_fields)
        card = parse_card(_parse_json(answer.content), self._remote.endpoint)
        emit_a2a_event(
            self._remote,
            A2AAgentCardFetchedEvent,
            fields,
            a2a_agent_name=card["name"],
            agent_card=card,
            protocol_version=card.get("protocolVersion"),
            provider=card.get("provider"),
            fetch_time_ms=(time.monotonic() - start) * 1000,
        )
        return card

    async def _get(self, address: str) -> httpx.Response:
        for _ in range(_MAX_REDIRECTS):
            answer = await self._request("GET", address, {"Accept": "application/json"})
            if not answer.is_redirect:
                return answer
            target = str(answer.url.join(answer.headers["Location"]))
            if not is_same_host(target, address):
                raise RemoteAgentError(
                    f"{self._where} redirects to `{public_url(target)}`, on another host, which is not followed."
                )
            address = target
        raise RemoteAgentError(f"{self._where} redirects too many times.")

    async def _request(
        self, http_method: str, address: str, headers: dict[str, str], body: object = None
    ) -> httpx.Response:
        """Send a request and return the whole response; retry once with a new token if the old one was rejected."""
        answer = await self._client.request(http_method, address, headers=await self._with_auth(headers), json=body)
        if answer.status_code == 401 and self._remote.auth is not None and self._remote.auth.forget():
            answer = await self._client.request(http_method, address, headers=await self._with_auth(headers), json=body)
        return answer

    async def _with_auth(self, headers: dict[str, str]) -> dict[str, str]:
        auth = self._remote.auth
        return dict(headers) if auth is None else dict(await auth.apply_auth(self._client, dict(headers)))

    @property
    def _headers(self) -> dict[str, str]:
        extensions = self._remote.requested_extensions
        return {"X-A2A-Extensions": ", ".join(extensions)} if extensions else {}

    def _body(self, method: str, params: Mapping[str, object]) -> PlainDict:
        body = {"jsonrpc": "2.0", "id": uuid4().hex, "method": method, "params": params}
        max_size = self._remote.transport.jsonrpc.max_request_size
        if max_size is not None and (size := len(json.dumps(body).encode())) > max_size:
            raise RemoteAgentError(f"a request of {size} bytes exceeds `max_request_size={max_size}`.")
        return body

    async def call(
        self, card: Mapping[str, object], method: str, params: Mapping[str, object], fields: EventFields
    ) -> Any:
        """Send a request and return its result.

        Raises:
            RemoteAgentError: If the request failed.
        """
        error_fields, body = {**fields, "operation": method}, self._body(method, params)
        headers = {**self._headers, "Accept": "application/json"}
        async with self._connection_errors(error_fields), asyncio.timeout(self._remote.timeout):
            answer = await self._request("POST", rpc_url(card, self._remote.endpoint), headers, body)
        self._check(answer, error_fields)
        return self._result(_parse_json(answer.content))

    async def stream(
        self, card: PlainMapping, method: str, params: PlainMapping, fields: EventFields
    ) -> AsyncGenerator[Any]:
        """Send a request and yield its results as they arrive.

        Raises:
            RemoteAgentError: If the request failed or the stream broke.
        """
        error_fields, body = {**fields, "operation": method}, self._body(method, params)
        headers, address = {**self._headers, "Accept": "text/event-stream"}, rpc_url(card, self._remote.endpoint)
        for is_last in (False, True):
            async with (
                self._connection_errors(error_fields),
                self._client.stream("POST", address, headers=await self._with_auth(headers), json=body) as answer,
            ):
                retry = answer.status_code == 401 and self._remote.auth is not None and self._remote.auth.forget()
                if retry and not is_last:
                    continue
                if not answer.is_success or "text/event-stream" not in answer.headers.get("Content-Type", ""):
                    await answer.aread()
                    self._check(answer, error_fields)
                    yield self._result(_parse_json(answer.content))
                    return
                async for value in _events(answer):
                    yield self._result(value)
                return

    def _result(self, value: Any) -> object:
        if not isinstance(value, Mapping):
            raise Unavailable(f"{self._where} sent an answer that is not JSON-RPC.")
        response = cast("PlainMapping", value)
        error = response.get("error")
        if isinstance(error, Mapping):
            details = cast("PlainMapping", error)
            raise RemoteAgentError(
                f"{self._where} refused: {shorten(str(details.get('message') or 'no reason given'), _MAX_ERROR_LENGTH)} "
                f"(code {details.get('code')})."
            )
        return response.get("result")

    def _check(self, answer: httpx.Response, fields: EventFields) -> None:
        if answer.is_success:
            return
        status, auth = answer.status_code, self._remote.auth
        if status in (401, 403):
            reason = f"it rejects `{type(auth).__name__}`" if auth else "it requires authentication, set `auth=`"
            error, kind = f"{self._where} denies access (status {status}): {reason}.", A2AAuthenticationFailedEvent
            more = {"auth_type": type(auth).__name__ if auth else None}
        else:
            error, kind, more = f"{self._where} answered with status {status}.", A2AConnectionErrorEvent, {}
        if answer.is_redirect:
            error = f"{self._where} redirects a request, which is not followed."
        emit_a2a_event(self._remote, kind, fields, error=error, status_code=status, **more)
        raise (Unavailable if status in _TEMPORARY or status >= 500 else RemoteAgentError)(error)

    @asynccontextmanager
    async def _connection_errors(self, fields: EventFields) -> AsyncGenerator[None]:
        try:
            yield
        except (httpx.TimeoutException, TimeoutError) as failure:
            error = f"{self._where} did not answer within {self._remote.timeout} seconds."
            emit_a2a_event(
                self._remote, A2AConnectionErrorEvent, fields, error=error, error_type=type(failure).__name__
            )
            raise Unavailable(error) from None
        except httpx.HTTPError as failure:
            error = f"{self._where} cannot be reached: {type(failure).__name__}: {failure}".rstrip(": ")
            emit_a2a_event(
                self._remote, A2AConnectionErrorEvent, fields, error=error, error_type=type(failure).__name__
            )
            raise Unavailable(f"{error.rstrip('.')}. Check that it is running, and its endpoint.") from None


async def _events(answer: httpx.Response) -> AsyncGenerator[object]:
    """Yield the JSON data of server-sent events."""
    data: list[str] = []
    async for line in answer.aiter_lines():
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            yield _parse_json("\n".join(data))
            data = []
    if data:
        yield _parse_json("\n".join(data))


def _parse_json(text: str | bytes) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # the latter: nested too deeply
        return None
