"""How a server of yours knows who asks; crewgraph itself serves nobody."""

import hmac
import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, HttpUrl, SecretStr, model_validator

from crewgraph.extras import require

__all__ = [
    "HTTP_401_UNAUTHORIZED",
    "HTTP_500_INTERNAL_SERVER_ERROR",
    "HTTP_503_SERVICE_UNAVAILABLE",
    "APIKeyServerAuth",
    "AuthenticatedUser",
    "EnterpriseTokenAuth",
    "HTTPException",
    "JWTAlgorithm",
    "MTLSServerAuth",
    "OAuth2ServerAuth",
    "OIDCAuth",
    "ServerAuthScheme",
    "SimpleTokenAuth",
]

HTTP_401_UNAUTHORIZED = 401
HTTP_500_INTERNAL_SERVER_ERROR = 500
HTTP_503_SERVICE_UNAVAILABLE = 503

JWTAlgorithm = Literal["RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512"]
"""An algorithm of signatures."""


def _secret(value: Any) -> Any:
    return SecretStr(value) if isinstance(value, str) else value


_Secret = Annotated[SecretStr, BeforeValidator(_secret)]


class HTTPException(Exception):
    """A request that is refused, with the status of the answer."""

    def __init__(self, status_code: int, detail: str | None = None, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status_code, self.detail, self.headers = status_code, detail, headers


def _refused(why: str) -> HTTPException:
    return HTTPException(HTTP_401_UNAUTHORIZED, why, {"WWW-Authenticate": "Bearer"})


@dataclass
class AuthenticatedUser:
    """Somebody who is known."""

    token: str
    """What they showed."""

    scheme: str
    """How they are known."""

    claims: dict[str, Any] | None = None
    """What is said of them."""


class ServerAuthScheme(BaseModel, ABC):
    """A way of knowing who asks."""

    model_config = ConfigDict(extra="forbid")

    @abstractmethod
    async def authenticate(self, token: str) -> AuthenticatedUser:
        """Who shows a token.

        Raises:
            HTTPException: nobody who is known.
        """


class SimpleTokenAuth(ServerAuthScheme):
    """One token for all; that of the environment variable AUTH_TOKEN where none is given."""

    token: _Secret | None = None
    """The token."""

    async def authenticate(self, token: str) -> AuthenticatedUser:
        wanted = self.token.get_secret_value() if self.token else os.environ.get("AUTH_TOKEN")
        if not wanted:
            raise _refused("no token is set that could be compared")
        return _equal(token, wanted, "simple_token")


class APIKeyServerAuth(ServerAuthScheme):
    """One key for all."""

    name: str = "X-API-Key"
    """Where it stands."""

    location: Literal["header", "query", "cookie"] = "header"
    """What that is the name of."""

    api_key: _Secret
    """The key."""

    async def authenticate(self, token: str) -> AuthenticatedUser:
        return _equal(token, self.api_key.get_secret_value(), "api_key")


class MTLSServerAuth(ServerAuthScheme):
    """Certificates of clients, which the connection has checked already."""

    description: str = "Mutual TLS certificate authentication"
    """What the card says of it."""

    async def authenticate(self, token: str) -> AuthenticatedUser:
        return AuthenticatedUser(token=token, scheme="mtls")


class EnterpriseTokenAuth(ServerAuthScheme):
    """Tokens of CrewAI's hosted platform, which nothing here can check."""

    async def authenticate(self, token: str) -> AuthenticatedUser:
        raise NotImplementedError("tokens of CrewAI's hosted platform are checked there alone; use `OIDCAuth`")


class _Signed(ServerAuthScheme):
    """Tokens that are signed by somebody whose keys are published."""

    jwks_url: HttpUrl | None = None
    """Where the keys are."""

    algorithms: list[str] = Field(default_factory=lambda: ["RS256"])
    """How tokens may be signed."""

    jwks_cache_ttl: int = Field(default=3600, ge=60)
    """For how many seconds keys are kept."""

    clock_skew_seconds: float = Field(default=30.0, ge=0)
    """How far clocks may differ."""

    def _claims(self, token: str, keys: str, **wanted: Any) -> dict[str, Any]:
        jwt = require("jwt", extra="a2a", purpose=f"`{type(self).__name__}`")
        try:
            key = jwt.PyJWKClient(keys, lifespan=self.jwks_cache_ttl).get_signing_key_from_jwt(token)
            return jwt.decode(token, key.key, algorithms=self.algorithms, leeway=self.clock_skew_seconds, **wanted)
        except jwt.PyJWKClientConnectionError as error:
            raise HTTPException(HTTP_503_SERVICE_UNAVAILABLE, f"the keys cannot be had: {error}") from error
        except jwt.PyJWTError as error:
            raise _refused(f"the token is not valid: {error}") from error


class OIDCAuth(_Signed):
    """Tokens of an OpenID Connect provider."""

    issuer: HttpUrl
    """The provider."""

    audience: str
    """For whom tokens must be."""

    required_claims: list[str] = Field(default_factory=lambda: ["exp", "iat", "iss", "aud", "sub"])
    """What tokens must say."""

    async def authenticate(self, token: str) -> AuthenticatedUser:
        issuer = str(self.issuer).rstrip("/")
        keys = str(self.jwks_url or f"{issuer}/.well-known/jwks.json")
        wanted = {
            "issuer": [issuer, f"{issuer}/"],
            "audience": self.audience,
            "options": {"require": self.required_claims},
        }
        return AuthenticatedUser(token=token, scheme="oidc", claims=self._claims(token, keys, **wanted))


class OAuth2ServerAuth(_Signed):
    """Tokens of a server of OAuth 2, signed by it."""

    token_url: HttpUrl
    """Where tokens are given."""

    authorization_url: HttpUrl | None = None
    """Where people allow them."""

    refresh_url: HttpUrl | None = None
    """Where they are renewed."""

    scopes: dict[str, str] = Field(default_factory=dict[str, str])
    """What they may allow, with descriptions."""

    introspection_url: HttpUrl | None = None
    """Where the server says whether a token is valid."""

    introspection_client_id: str | None = None
    """Who asks that."""

    introspection_client_secret: _Secret | None = None
    """How that is proved."""

    audience: str | None = None
    """For whom tokens must be."""

    issuer: str | None = None
    """By whom they must be."""

    required_claims: list[str] = Field(default_factory=lambda: ["exp", "iat"])
    """What tokens must say."""

    @model_validator(mode="after")
    def _with_keys(self) -> Self:
        if self.jwks_url is None and self.introspection_url is None:
            raise ValueError("tokens are checked by keys or by asking: give `jwks_url` or `introspection_url`")
        return self

    async def authenticate(self, token: str) -> AuthenticatedUser:
        if self.jwks_url is None:
            return AuthenticatedUser(token=token, scheme="oauth2", claims=await self._introspected(token))
        wanted = {"issuer": self.issuer, "audience": self.audience, "options": {"require": self.required_claims}}
        return AuthenticatedUser(token=token, scheme="oauth2", claims=self._claims(token, str(self.jwks_url), **wanted))

    async def _introspected(self, token: str) -> dict[str, Any]:
        httpx = require("httpx", extra="a2a", purpose="`OAuth2ServerAuth`")
        secret = self.introspection_client_secret
        who = (
            (self.introspection_client_id, secret.get_secret_value())
            if self.introspection_client_id and secret
            else None
        )
        try:
            async with httpx.AsyncClient(auth=who) as client:
                answer = await client.post(str(self.introspection_url), data={"token": token})
        except httpx.HTTPError as error:
            raise HTTPException(
                HTTP_503_SERVICE_UNAVAILABLE, f"nobody says whether the token is valid: {error}"
            ) from error
        told: Any = answer.json() if answer.is_success else None
        if not isinstance(told, dict) or told.get("active") is not True:
            raise _refused("the token is not valid")
        return told  # pyright: ignore[reportUnknownVariableType]

    def to_security_scheme(self) -> dict[str, Any]:
        """What a card says of it, as the protocol writes it in JSON."""
        urls = {"tokenUrl": self.token_url, "authorizationUrl": self.authorization_url, "refreshUrl": self.refresh_url}
        flow = {name: str(url) for name, url in urls.items() if url is not None} | {"scopes": self.scopes}
        kind = "authorizationCode" if self.authorization_url else "clientCredentials"
        return {"type": "oauth2", "flows": {kind: flow}}


def _equal(token: str, wanted: str, scheme: str) -> AuthenticatedUser:
    if not hmac.compare_digest(token.encode(), wanted.encode()):
        raise _refused("the token is not the one that is wanted")
    return AuthenticatedUser(token=token, scheme=scheme)
