"""How requests to remote agents say who makes them."""

import base64
from abc import ABC, abstractmethod
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

from pydantic import BaseModel, Field, PrivateAttr

from crewgraph.extras import load
from crewgraph.tools.a2a.tls import TLSConfig

if TYPE_CHECKING:
    import httpx

__all__ = ["APIKeyAuth", "BearerTokenAuth", "ClientAuthScheme", "HTTPBasicAuth", "HTTPDigestAuth"]


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
