"""Tokens that a server of OAuth 2 gives."""

import asyncio
import time
from abc import abstractmethod
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlencode

from pydantic import Field, PrivateAttr

from crewgraph.errors import RemoteAgentError
from crewgraph.tools.a2a.auth import ClientAuthScheme

if TYPE_CHECKING:
    import httpx

__all__ = ["OAuth2AuthorizationCode", "OAuth2ClientCredentials"]

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
