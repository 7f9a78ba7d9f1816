"""Requests to one remote agent: its card, and JSON-RPC over HTTP; events report each of them."""

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
from crewgraph.text import shorten

__all__ = [
    "About",
    "Wire",
    "card_addresses",
    "checked_card",
    "emit_a2a_event",
    "is_same_host",
    "rpc_address",
    "shown_address",
    "streams",
]

About = Mapping[str, Any]
"""What all events of a message have: endpoint, a2a_agent_name, from_agent, from_task, turn_number and the like."""


def emit_a2a_event(source: Any, event: type[A2AEventBase], about: About, **more: Any) -> None:
    """Emit an event, if somebody listens; of what is said of the message, it gets what it has a field for."""
    if crewai_event_bus.wants(event):
        known = {name: value for name, value in about.items() if name in event.model_fields}
        crewai_event_bus.emit(source, event(**{**known, **more}))


_CARDS = ("/.well-known/agent-card.json", "/.well-known/agent.json")
"""Where cards are, today and in older versions of the protocol."""

_KEPT = ("name", "description", "url", "version", "protocolVersion", "preferredTransport", "provider", "skills")
_KEPT_LISTS = ("additionalInterfaces", "capabilities", "security", "securitySchemes", "defaultInputModes")


def shown_address(address: str) -> str:
    """An address without what may be secret."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def card_addresses(endpoint: str) -> list[str]:
    """Where the card of an endpoint may be: at that very address, or where it usually is below it."""
    parts = urlsplit(endpoint)
    if "/.well-known/" in parts.path or parts.path.endswith(".json"):
        return [endpoint]
    base = parts.path.rstrip("/")
    return [urlunsplit(parts._replace(path=base + path)) for path in _CARDS]


def is_same_host(one: str, other: str) -> bool:
    """Whether two addresses are of one host; all names of this machine are."""
    first, second = (urlsplit(address).hostname or "" for address in (one, other))
    return first == second or (_is_near(first) and _is_near(second))


def _is_near(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback or ip_address(host).is_unspecified
    except ValueError:
        return False


def checked_card(told: Any, endpoint: str) -> dict[str, Any]:
    """The card that a server gave, without what is of no use here.

    Raises:
        RemoteAgentError: it is none, or leads to another host, or names no JSON-RPC.
    """
    where = f"the remote agent at `{shown_address(endpoint)}`"
    if not isinstance(told, Mapping) or not isinstance(cast("Mapping[str, Any]", told).get("name"), str):
        raise RemoteAgentError(f"{where} gave no card: a JSON object with its name. Look at the address.")
    given = cast("Mapping[str, Any]", told)
    card = {name: given[name] for name in (*_KEPT, *_KEPT_LISTS) if name in given}
    rpc_address(card, endpoint)
    return card


def rpc_address(card: Mapping[str, Any], endpoint: str) -> str:
    """Where a remote agent answers JSON-RPC.

    Raises:
        RemoteAgentError: nowhere, or on another host than its card is on.
    """
    where = f"the remote agent at `{shown_address(endpoint)}`"
    faces = cast("list[Mapping[str, Any]]", card.get("additionalInterfaces") or [])
    offered = [(str(card.get("preferredTransport") or "JSONRPC"), str(card.get("url") or ""))]
    offered += [(str(face.get("transport")), str(face.get("url") or "")) for face in faces]
    found = next((url for transport, url in offered if transport == "JSONRPC" and url), None)
    if found is None:
        told = (
            ", ".join(sorted({transport for transport, url in offered if url})) or "nothing of the versions 0.2 and 0.3"
        )
        raise RemoteAgentError(f"{where} answers no JSON-RPC; its card offers {told}.")
    if urlsplit(found).scheme not in ("http", "https"):
        raise RemoteAgentError(f"{where} says that it answers at {found!r:.80}, which is no address with http(s)://.")
    if not is_same_host(found, endpoint):
        raise RemoteAgentError(
            f"{where} says that it answers at `{shown_address(found)}`, on another host: that is not followed. If it is "
            "right, give the address of the card on that host as `endpoint`."
        )
    return found


def streams(card: Mapping[str, Any]) -> bool:
    """Whether a remote agent can be listened to while it works."""
    return bool(cast("Mapping[str, Any]", card.get("capabilities") or {}).get("streaming"))


_REDIRECTS = 3
_TOLD = 500


class Wire:
    """What a remote agent is reached by; its coroutines belong on one loop."""

    def __init__(self, remote: RemoteAgent) -> None:
        self._remote = remote
        self._where = f"the remote agent at `{shown_address(remote.endpoint)}`"
        tls = remote.auth.tls if remote.auth else None
        self._client = httpx.AsyncClient(
            timeout=remote.timeout, verify=tls.get_httpx_ssl_context() if tls else True, follow_redirects=False
        )
        if remote.auth is not None:
            remote.auth.configure_client(self._client)

    async def close(self) -> None:
        """Give its connections back."""
        await self._client.aclose()

    async def card(self, about: About) -> dict[str, Any]:
        """The remote agent's card.

        Raises:
            RemoteAgentError: it has none, or none that can be used.
        """
        began = time.monotonic()
        with_errors = {**about, "operation": "fetch_agent_card"}
        first, *others = card_addresses(self._remote.endpoint)
        async with self._reached(with_errors):
            answer = await self._fetched(first)
            for address in others:
                answer = await self._fetched(address) if answer.status_code == 404 else answer
        self._check(answer, with_errors)
        try:
            told: Any = answer.json()
        except ValueError:
            told = None
        card = checked_card(told, self._remote.endpoint)
        emit_a2a_event(
            self._remote,
            A2AAgentCardFetchedEvent,
            about,
            a2a_agent_name=card["name"],
            agent_card=card,
            protocol_version=card.get("protocolVersion"),
            provider=card.get("provider"),
            fetch_time_ms=(time.monotonic() - began) * 1000,
        )
        return card

    async def _fetched(self, address: str) -> httpx.Response:
        for _ in range(_REDIRECTS):
            answer = await self._authorized("GET", address, {"Accept": "application/json"})
            if not answer.is_redirect:
                return answer
            further = str(answer.url.join(answer.headers["Location"]))
            if not is_same_host(further, address):
                raise RemoteAgentError(
                    f"{self._where} redirects to `{shown_address(further)}`, on another host: that is not followed."
                )
            address = further
        raise RemoteAgentError(f"{self._where} redirects again and again.")

    async def _authorized(self, verb: str, address: str, headers: dict[str, str], body: Any = None) -> httpx.Response:
        """A whole answer; made once more where a token was refused that is fetched anew then."""
        answer = await self._client.request(verb, address, headers=await self._signed(headers), json=body)
        if answer.status_code == 401 and self._remote.auth is not None and self._remote.auth.forget():
            answer = await self._client.request(verb, address, headers=await self._signed(headers), json=body)
        return answer

    async def _signed(self, headers: dict[str, str]) -> dict[str, str]:
        auth = self._remote.auth
        return dict(headers) if auth is None else dict(await auth.apply_auth(self._client, dict(headers)))

    @property
    def _headers(self) -> dict[str, str]:
        asked = self._remote.asked_extensions
        return {"X-A2A-Extensions": ", ".join(asked)} if asked else {}

    def _body(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        body = {"jsonrpc": "2.0", "id": uuid4().hex, "method": method, "params": params}
        bound = self._remote.transport.jsonrpc.max_request_size
        if bound is not None and (size := len(json.dumps(body).encode())) > bound:
            raise RemoteAgentError(f"a request of {size} bytes is more than the {bound} of `max_request_size`.")
        return body

    async def call(self, card: Mapping[str, Any], method: str, params: Mapping[str, Any], about: About) -> Any:
        """The result of a request.

        Raises:
            RemoteAgentError: it was not carried out.
        """
        asked, body = {**about, "operation": method}, self._body(method, params)
        headers = {**self._headers, "Accept": "application/json"}
        async with self._reached(asked):
            answer = await self._authorized("POST", rpc_address(card, self._remote.endpoint), headers, body)
        self._check(answer, asked)
        try:
            told: Any = answer.json()
        except ValueError:
            told = None
        return self._result(told)

    async def stream(
        self, card: Mapping[str, Any], method: str, params: Mapping[str, Any], about: About
    ) -> AsyncGenerator[Any]:
        """The results of a request, as they come.

        Raises:
            RemoteAgentError: it was not carried out, or broke off.
        """
        asked, body = {**about, "operation": method}, self._body(method, params)
        headers, address = {**self._headers, "Accept": "text/event-stream"}, rpc_address(card, self._remote.endpoint)
        for is_last in (False, True):
            async with (
                self._reached(asked),
                self._client.stream("POST", address, headers=await self._signed(headers), json=body) as answer,
            ):
                again = answer.status_code == 401 and self._remote.auth is not None and self._remote.auth.forget()
                if again and not is_last:
                    continue
                if not answer.is_success or "text/event-stream" not in answer.headers.get("Content-Type", ""):
                    await answer.aread()
                    self._check(answer, asked)
                    yield self._result(_read(answer.text))
                    return
                async for told in _events(answer):
                    yield self._result(told)
                return

    def _result(self, told: Any) -> Any:
        if not isinstance(told, Mapping):
            raise RemoteAgentError(f"{self._where} answered with what is no JSON-RPC.")
        given = cast("Mapping[str, Any]", told)
        error = given.get("error")
        if isinstance(error, Mapping):
            known = cast("Mapping[str, Any]", error)
            raise RemoteAgentError(
                f"{self._where} refused: {shorten(str(known.get('message') or 'it does not say why'), _TOLD)} "
                f"(code {known.get('code')})."
            )
        return given.get("result")

    def _check(self, answer: httpx.Response, about: About) -> None:
        if answer.is_success:
            return
        status, auth = answer.status_code, self._remote.auth
        if status in (401, 403):
            how = f"its `{type(auth).__name__}` is refused" if auth else "it wants to know who asks: give `auth=`"
            error, kind = f"{self._where} denies access (status {status}): {how}.", A2AAuthenticationFailedEvent
            more = {"auth_type": type(auth).__name__ if auth else None}
        else:
            error, kind, more = f"{self._where} answered with status {status}.", A2AConnectionErrorEvent, {}
        if answer.is_redirect:
            error = f"{self._where} redirects, which is not followed for requests."
        emit_a2a_event(self._remote, kind, about, error=error, status_code=status, **more)
        raise RemoteAgentError(error)

    @asynccontextmanager
    async def _reached(self, about: About) -> AsyncGenerator[None]:
        try:
            yield
        except httpx.TimeoutException as failure:
            error = f"{self._where} did not answer within {self._remote.timeout} seconds."
            emit_a2a_event(self._remote, A2AConnectionErrorEvent, about, error=error, error_type=type(failure).__name__)
            raise RemoteAgentError(error) from None
        except httpx.HTTPError as failure:
            error = f"{self._where} cannot be reached: {type(failure).__name__}: {failure}".rstrip(": ")
            emit_a2a_event(self._remote, A2AConnectionErrorEvent, about, error=error, error_type=type(failure).__name__)
            raise RemoteAgentError(f"{error}. Look at whether it runs, and at its address.") from None


async def _events(answer: httpx.Response) -> AsyncGenerator[Any]:
    """The data of server-sent events."""
    data: list[str] = []
    async for line in answer.aiter_lines():
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            yield _read("\n".join(data))
            data = []
    if data:
        yield _read("\n".join(data))


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
