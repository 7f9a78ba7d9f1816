"""Authentication of requests to remote agents: headers, keys, certificates, OAuth 2 tokens."""

import asyncio
import base64
import ssl
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote, urlencode

from pydantic import ConfigDict, Field, FilePath, PrivateAttr, model_validator

from crewgraph.errors import RemoteAgentError
from crewgraph.extras import load
from crewgraph.redaction import RedactedModel
from crewgraph.schema import is_object

if TYPE_CHECKING:
    import httpx


class TLSConfig(RedactedModel):
    """TLS certificates for connections to a remote agent."""

    model_config = ConfigDict(extra="forbid")

    client_cert_path: FilePath | None = None
    """PEM file with the client's certificate, for servers that require one."""

    client_key_path: FilePath | None = None
    """PEM file with the key of that certificate."""

    ca_cert_path: FilePath | None = None
    """PEM file with the trusted authorities; None uses the system's trust store."""

    verify: bool = True
    """Whether to verify the server's certificate."""

    @model_validator(mode="after")
    def _check_key_has_certificate(self) -> "TLSConfig":
        if self.client_key_path and not self.client_cert_path:
            raise ValueError("`client_key_path` needs `client_cert_path`, the certificate it belongs to")
        return self

    def get_httpx_ssl_context(self) -> ssl.SSLContext | bool:
        """Return the value for `httpx.AsyncClient(verify=...)`."""
        if self.verify and not (self.client_cert_path or self.ca_cert_path):
            return True  # httpx brings certificates, which Python on macOS, for one, does not find in the system
        context = ssl.create_default_context(cafile=self.ca_cert_path)
        if not self.verify:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if self.client_cert_path:
            context.load_cert_chain(self.client_cert_path, self.client_key_path)
        return context


class ClientAuthScheme(RedactedModel, ABC):
    """Base class of authentication schemes; subclass it for a scheme of your own."""

    tls: TLSConfig | None = None
    """TLS settings of the connections."""

    @abstractmethod
    async def apply_auth(
        self, client: "httpx.AsyncClient", headers: MutableMapping[str, str]
    ) -> MutableMapping[str, str]:
        """Return the headers of a request with the credentials added.

        Args:
            client: A client for requests of your own, such as for a token; it adds no credentials.
            headers: The headers so far.
        """

    def configure_client(self, client: "httpx.AsyncClient") -> None:
        """Configure the client once, for schemes that headers cannot express."""

    def forget(self) -> bool:
        """Discard credentials that the server has just rejected; return whether a retry makes sense."""
        return False


class BearerTokenAuth(ClientAuthScheme):
    """Bearer token in the `Authorization` header."""

    token: str
    """The bearer token."""

    async def apply_auth(
        self, client: "httpx.AsyncClient", headers: MutableMapping[str, str]
    ) -> MutableMapping[str, str]:
        headers["Authorization"] = f"Bearer {self.token}"
        return headers


class HTTPBasicAuth(ClientAuthScheme):
    """HTTP basic authentication."""

    username: str

    password: str

    async def apply_auth(
        self, client: "httpx.AsyncClient", headers: MutableMapping[str, str]
    ) -> MutableMapping[str, str]:
        credentials = base64.b64encode(f"{self.username}:{self.password}".encode()).decode("ascii")
        headers["Authorization"] = f"Basic {credentials}"
        return headers


class HTTPDigestAuth(ClientAuthScheme):
    """HTTP digest authentication."""

    username: str

    password: str

    async def apply_auth(
        self, client: "httpx.AsyncClient", headers: MutableMapping[str, str]
    ) -> MutableMapping[str, str]:
        return headers  # httpx answers the server's challenge

    def configure_client(self, client: "httpx.AsyncClient") -> None:
        client.auth = load("httpx").DigestAuth(self.username, self.password)


class APIKeyAuth(ClientAuthScheme):
    """API key in a header, a query parameter or a cookie."""

    api_key: str

    location: Literal["header", "query", "cookie"] = "header"
    """Part of the request that carries the key."""

    name: str = "X-API-Key"
    """Name of the header, query parameter or cookie."""

    async def apply_auth(
        self, client: "httpx.AsyncClient", headers: MutableMapping[str, str]
    ) -> MutableMapping[str, str]:
        if self.location == "header":
            headers[self.name] = self.api_key
        elif self.location == "cookie":
            existing = headers.get("Cookie")
            cookie = f"{self.name}={quote(self.api_key, safe='')}"
            headers["Cookie"] = f"{existing}; {cookie}" if existing else cookie
        return headers

    def configure_client(self, client: "httpx.AsyncClient") -> None:
        if self.location != "query":
            return

        async def add_key(request: "httpx.Request") -> None:
            request.url = request.url.copy_merge_params({self.name: self.api_key})

        client.event_hooks = {**client.event_hooks, "request": [*client.event_hooks["request"], add_key]}


_EXPIRY_MARGIN = 60.0
"""Seconds before its expiry at which a token is replaced."""


class _OAuth2(ClientAuthScheme):
    """Base class of schemes that fetch a token and reuse it until it expires."""

    token_url: str
    """The token endpoint."""

    client_id: str
    """The OAuth client id."""

    client_secret: str
    """The OAuth client secret."""

    scopes: list[str] = Field(default_factory=list[str])
    """Scopes to request."""

    _access_token: str | None = PrivateAttr(default=None)
    _refresh_token: str | None = PrivateAttr(default=None)
    _token_expires_at: float | None = PrivateAttr(default=None)
    _lock: asyncio.Lock = PrivateAttr(default_factory=asyncio.Lock)

    async def apply_auth(
        self, client: "httpx.AsyncClient", headers: MutableMapping[str, str]
    ) -> MutableMapping[str, str]:
        """Return the headers with a token, fetching one if none is valid.

        Raises:
            RemoteAgentError: If the server issues no token.
        """
        async with self._lock:
            if self._access_token is None or (self._token_expires_at or 0) <= time.time():
                await self._fetch(client)
            headers["Authorization"] = f"Bearer {self._access_token}"
        return headers

    def forget(self) -> bool:
        had_token, self._access_token = self._access_token is not None, None
        return had_token

    @abstractmethod
    async def _fetch(self, client: "httpx.AsyncClient") -> None:
        """Fetch a token by calling `_request_token`."""

    async def _request_token(self, client: "httpx.AsyncClient", form: dict[str, str]) -> None:
        response = await client.post(self.token_url, data=form, follow_redirects=False)
        body: object = None
        if response.is_success:
            with suppress(ValueError):
                body = response.json()
        token = body if is_object(body) else {}
        if not isinstance(token.get("access_token"), str):
            raise RemoteAgentError(
                f"`{self.token_url.partition('?')[0]}` issued no token (status {response.status_code}). Check "
                "`client_id`, `client_secret` and `scopes`."
            )
        self._access_token = token["access_token"]
        self._refresh_token = token.get("refresh_token") or self._refresh_token
        seconds = float(token.get("expires_in") or 3600)
        self._token_expires_at = time.time() + max(seconds - _EXPIRY_MARGIN, seconds / 2)


class OAuth2ClientCredentials(_OAuth2):
    """OAuth 2 client credentials: a token for the program itself."""

    async def _fetch(self, client: "httpx.AsyncClient") -> None:
        form = {"grant_type": "client_credentials", "client_id": self.client_id, "client_secret": self.client_secret}
        await self._request_token(client, {**form, "scope": " ".join(self.scopes)} if self.scopes else form)


class OAuth2AuthorizationCode(_OAuth2):
    """OAuth 2 authorization code: a token that a person grants in a browser."""

    authorization_url: str
    """The authorization endpoint, which the person visits."""

    redirect_uri: str
    """URL to which the person is redirected with the code."""

    _authorization_callback: Callable[[str], Awaitable[str]] | None = PrivateAttr(default=None)

    def set_authorization_callback(self, callback: Callable[[str], Awaitable[str]] | None) -> None:
        """Set the async function that sends a person to a URL and returns the authorization code."""
        self._authorization_callback = callback

    async def _fetch(self, client: "httpx.AsyncClient") -> None:
        client_fields = {"client_id": self.client_id, "client_secret": self.client_secret}
        if self._refresh_token is not None:
            refresh, self._refresh_token = self._refresh_token, None
            form = {"grant_type": "refresh_token", "refresh_token": refresh}
            with suppress(RemoteAgentError):  # a refused one leads to a new authorization
                await self._request_token(client, {**form, **client_fields})
                return
        if self._authorization_callback is None:
            raise RemoteAgentError(
                "a person has to grant access, and there is no callback that sends them to the authorization page: call "
                "`OAuth2AuthorizationCode.set_authorization_callback(...)`."
            )
        parameters = {"response_type": "code", "client_id": self.client_id, "redirect_uri": self.redirect_uri}
        query = urlencode({**parameters, "scope": " ".join(self.scopes)} if self.scopes else parameters)
        code = await self._authorization_callback(f"{self.authorization_url}?{query}")
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": self.redirect_uri}
        await self._request_token(client, {**form, **client_fields})
