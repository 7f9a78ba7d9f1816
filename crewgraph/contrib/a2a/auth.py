"""How requests to remote agents authenticate: headers, keys, certificates, OAuth 2 tokens."""

import asyncio
import base64
import ssl
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any, Literal, cast
from urllib.parse import quote, urlencode

from pydantic import BaseModel, ConfigDict, Field, FilePath, PrivateAttr, model_validator

from crewgraph.errors import RemoteAgentError
from crewgraph.extras import load

if TYPE_CHECKING:
    import httpx

__all__ = [
    "APIKeyAuth",
    "BearerTokenAuth",
    "ClientAuthScheme",
    "HTTPBasicAuth",
    "HTTPDigestAuth",
    "OAuth2AuthorizationCode",
    "OAuth2ClientCredentials",
    "TLSConfig",
]


class TLSConfig(BaseModel):
    """Which certificates a connection to a remote agent is made with."""

    model_config = ConfigDict(extra="forbid")

    client_cert_path: FilePath | None = None
    """The client's own certificate, a PEM file; for servers that ask for one."""

    client_key_path: FilePath | None = None
    """The key of that certificate, a PEM file."""

    ca_cert_path: FilePath | None = None
    """Whom to trust, a PEM file; those that the machine trusts where None."""

    verify: bool = True
    """Whether the server's certificate is checked."""

    @model_validator(mode="after")
    def _with_certificate(self) -> "TLSConfig":
        if self.client_key_path and not self.client_cert_path:
            raise ValueError("`client_key_path` is the key of a certificate: give `client_cert_path`, too")
        return self

    def get_httpx_ssl_context(self) -> ssl.SSLContext | bool | str:
        """What `httpx.AsyncClient(verify=...)` takes."""
        if not self.verify and not self.client_cert_path:
            return False
        if not (self.client_cert_path or self.ca_cert_path):
            return True
        context = ssl.create_default_context(cafile=str(self.ca_cert_path) if self.ca_cert_path else None)
        if not self.verify:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if self.client_cert_path:
            context.load_cert_chain(str(self.client_cert_path), str(self.client_key_path or self.client_cert_path))
        return context


class ClientAuthScheme(BaseModel, ABC):
    """A way of saying who makes a request; subclass it for one of your own."""

    tls: TLSConfig | None = None
    """The certificates that connections are made with."""

    @abstractmethod
    async def apply_auth(
        self, client: "httpx.AsyncClient", headers: MutableMapping[str, str]
    ) -> MutableMapping[str, str]:
        """The headers of a request, with what is needed added.

        Args:
            client: what the request is made with.
            headers: those it has so far.
        """

    def configure_client(self, client: "httpx.AsyncClient") -> None:
        """Prepare the client, once, for what no header can say."""

    def forget(self) -> bool:
        """Give up what the server has just refused; whether trying once more makes sense then."""
        return False


class BearerTokenAuth(ClientAuthScheme):
    """A token in the header `Authorization`."""

    token: str = Field(repr=False)
    """The token."""

    async def apply_auth(
        self, client: "httpx.AsyncClient", headers: MutableMapping[str, str]
    ) -> MutableMapping[str, str]:
        headers["Authorization"] = f"Bearer {self.token}"
        return headers


class HTTPBasicAuth(ClientAuthScheme):
    """A name and a password with each request."""

    username: str
    """The name."""

    password: str = Field(repr=False)
    """The password."""

    async def apply_auth(
        self, client: "httpx.AsyncClient", headers: MutableMapping[str, str]
    ) -> MutableMapping[str, str]:
        told = base64.b64encode(f"{self.username}:{self.password}".encode()).decode("ascii")
        headers["Authorization"] = f"Basic {told}"
        return headers


class HTTPDigestAuth(ClientAuthScheme):
    """A name and a digest of a password, made of what the server says for each request."""

    username: str
    """The name."""

    password: str = Field(repr=False)
    """The password."""

    _configured_client_id: int | None = PrivateAttr(default=None)

    async def apply_auth(
        self, client: "httpx.AsyncClient", headers: MutableMapping[str, str]
    ) -> MutableMapping[str, str]:
        return headers  # the client does it, once the server has asked

    def configure_client(self, client: "httpx.AsyncClient") -> None:
        if self._configured_client_id != id(client):
            self._configured_client_id = id(client)
            client.auth = load("httpx").DigestAuth(self.username, self.password)


class APIKeyAuth(ClientAuthScheme):
    """A key, in a header, in the address or in a cookie."""

    api_key: str = Field(repr=False)
    """The key."""

    location: Literal["header", "query", "cookie"] = "header"
    """Where it stands."""

    name: str = "X-API-Key"
    """The name of the header, of the parameter of the address, or of the cookie."""

    _configured_client_ids: set[int] = PrivateAttr(default_factory=set[int])

    async def apply_auth(
        self, client: "httpx.AsyncClient", headers: MutableMapping[str, str]
    ) -> MutableMapping[str, str]:
        if self.location == "header":
            headers[self.name] = self.api_key
        elif self.location == "cookie":
            before = headers.get("Cookie")
            own = f"{self.name}={quote(self.api_key, safe='')}"
            headers["Cookie"] = f"{before}; {own}" if before else own
        return headers

    def configure_client(self, client: "httpx.AsyncClient") -> None:
        if self.location != "query" or id(client) in self._configured_client_ids:
            return
        self._configured_client_ids.add(id(client))

        async def with_key(request: "httpx.Request") -> None:
            request.url = request.url.copy_merge_params({self.name: self.api_key})

        client.event_hooks = {**client.event_hooks, "request": [*client.event_hooks["request"], with_key]}


_EARLY = 60.0
"""How many seconds before its end a token is no longer used."""


class _OAuth2(ClientAuthScheme):
    """Tokens that are kept as long as they are valid."""

    token_url: str
    """Where tokens are given."""

    client_id: str
    """Who asks for them."""

    client_secret: str = Field(repr=False)
    """How that is proved."""

    scopes: list[str] = Field(default_factory=list[str])
    """What they are to allow."""

    _access_token: str | None = PrivateAttr(default=None)
    _refresh_token: str | None = PrivateAttr(default=None)
    _token_expires_at: float | None = PrivateAttr(default=None)
    _lock: asyncio.Lock = PrivateAttr(default_factory=asyncio.Lock)

    async def apply_auth(
        self, client: "httpx.AsyncClient", headers: MutableMapping[str, str]
    ) -> MutableMapping[str, str]:
        """The headers with a token, which is fetched where there is none that is valid.

        Raises:
            RemoteAgentError: the server gives none.
        """
        async with self._lock:
            if self._access_token is None or (self._token_expires_at or 0) <= time.time():
                await self._fetch(client)
            headers["Authorization"] = f"Bearer {self._access_token}"
        return headers

    def forget(self) -> bool:
        had, self._access_token = self._access_token is not None, None
        return had

    @abstractmethod
    async def _fetch(self, client: "httpx.AsyncClient") -> None:
        """Take a token from the server, by `_ask`."""

    async def _ask(self, client: "httpx.AsyncClient", form: dict[str, str]) -> None:
        answer = await client.post(self.token_url, data=form, follow_redirects=False)
        told: Any = None
        if answer.is_success:
            try:
                told = answer.json()
            except ValueError:
                told = None
        given = cast("dict[str, Any]", told) if isinstance(told, dict) else {}
        if not isinstance(given.get("access_token"), str):
            raise RemoteAgentError(
                f"no token was given at `{self.token_url.partition('?')[0]}` (status {answer.status_code}). Look at "
                "`client_id`, `client_secret` and `scopes`."
            )
        self._access_token = given["access_token"]
        self._refresh_token = given.get("refresh_token") or self._refresh_token
        seconds = float(given.get("expires_in") or 3600)
        self._token_expires_at = time.time() + max(seconds - _EARLY, seconds / 2)


class OAuth2ClientCredentials(_OAuth2):
    """A token for a program of its own, kept until it is no longer valid."""

    async def _fetch(self, client: "httpx.AsyncClient") -> None:
        form = {"grant_type": "client_credentials", "client_id": self.client_id, "client_secret": self.client_secret}
        await self._ask(client, {**form, "scope": " ".join(self.scopes)} if self.scopes else form)


class OAuth2AuthorizationCode(_OAuth2):
    """A token that a person allows, in a browser."""

    authorization_url: str
    """Where the person allows it."""

    redirect_uri: str
    """Where the person is sent with the code."""

    _authorization_callback: Callable[[str], Awaitable[str]] | None = PrivateAttr(default=None)

    def set_authorization_callback(self, callback: Callable[[str], Awaitable[str]] | None) -> None:
        """Set what sends a person to an address and gives the code that they came back with."""
        self._authorization_callback = callback

    async def _fetch(self, client: "httpx.AsyncClient") -> None:
        own = {"client_id": self.client_id, "client_secret": self.client_secret}
        if self._refresh_token is not None:
            refresh, self._refresh_token = self._refresh_token, None
            try:
                await self._ask(client, {"grant_type": "refresh_token", "refresh_token": refresh, **own})
            except RemoteAgentError:
                pass  # a person is asked again
            else:
                return
        if self._authorization_callback is None:
            raise RemoteAgentError(
                "a person has to allow the access, and nothing sends them there: call `set_authorization_callback(...)` "
                "of the `OAuth2AuthorizationCode`."
            )
        asked = {"response_type": "code", "client_id": self.client_id, "redirect_uri": self.redirect_uri}
        query = urlencode({**asked, "scope": " ".join(self.scopes)} if self.scopes else asked)
        code = await self._authorization_callback(f"{self.authorization_url}?{query}")
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": self.redirect_uri}
        await self._ask(client, {**form, **own})
