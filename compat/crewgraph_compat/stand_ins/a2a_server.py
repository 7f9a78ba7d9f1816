"""CrewAI's A2A server and authentication configuration, as plain data: crewgraph does not serve agents."""

import hmac
import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, FilePath, HttpUrl, SecretStr, model_validator

from crewgraph.contrib.a2a.config import ServedAgent, TransportType, Url
from crewgraph.deprecations import warn_deprecated

__all__ = [
    "HTTP_401_UNAUTHORIZED",
    "HTTP_500_INTERNAL_SERVER_ERROR",
    "HTTP_503_SERVICE_UNAVAILABLE",
    "A2AServerConfig",
    "APIKeyServerAuth",
    "AgentCardSigningConfig",
    "AuthenticatedUser",
    "EnterpriseTokenAuth",
    "GRPCServerConfig",
    "HTTPException",
    "HTTPJSONConfig",
    "JSONRPCServerConfig",
    "JWTAlgorithm",
    "MTLSServerAuth",
    "OAuth2ServerAuth",
    "OIDCAuth",
    "ProtocolVersion",
    "ServerAuthScheme",
    "ServerPushNotificationConfig",
    "ServerTransportConfig",
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
    """A refused request, with the HTTP status of the response."""

    def __init__(self, status_code: int, detail: str | None = None, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status_code, self.detail, self.headers = status_code, detail, headers


def _refused(why: str) -> HTTPException:
    return HTTPException(HTTP_401_UNAUTHORIZED, why, {"WWW-Authenticate": "Bearer"})


@dataclass
class AuthenticatedUser:
    """An authenticated user."""

    token: str
    """What they showed."""

    scheme: str
    """How they are known."""

    claims: dict[str, Any] | None = None
    """What is said of them."""


class ServerAuthScheme(BaseModel, ABC):
    """Base class of server authentication schemes."""

    model_config = ConfigDict(extra="forbid")

    @abstractmethod
    async def authenticate(self, token: str) -> AuthenticatedUser:
        """Return the user that a token belongs to.

        Raises:
            HTTPException: The token is not valid.
        """


class SimpleTokenAuth(ServerAuthScheme):
    """A single shared token; defaults to the environment variable AUTH_TOKEN."""

    token: _Secret | None = None
    """The token."""

    async def authenticate(self, token: str) -> AuthenticatedUser:
        wanted = self.token.get_secret_value() if self.token else os.environ.get("AUTH_TOKEN")
        if not wanted:
            raise _refused("no token is configured")
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
        raise NotImplementedError("tokens of CrewAI's hosted platform can only be checked there")


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

    async def authenticate(self, token: str) -> AuthenticatedUser:
        """Refuse.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            f"`{type(self).__name__}` is plain data, as crewgraph does not serve agents: check tokens where you serve the graph "
            "of `crew.compile()`"
        )


class OIDCAuth(_Signed):
    """Tokens of an OpenID Connect provider."""

    issuer: HttpUrl
    """The provider."""

    audience: str
    """For whom tokens must be."""

    required_claims: list[str] = Field(default_factory=lambda: ["exp", "iat", "iss", "aud", "sub"])
    """What tokens must say."""


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
            raise ValueError("tokens are checked with keys or by introspection: set `jwks_url` or `introspection_url`")
        return self

    def to_security_scheme(self) -> dict[str, Any]:
        """What a card says of it, as the protocol writes it in JSON."""
        urls = {"tokenUrl": self.token_url, "authorizationUrl": self.authorization_url, "refreshUrl": self.refresh_url}
        flow = {name: str(url) for name, url in urls.items() if url is not None} | {"scopes": self.scopes}
        kind = "authorizationCode" if self.authorization_url else "clientCredentials"
        return {"type": "oauth2", "flows": {kind: flow}}


def _equal(token: str, wanted: str, scheme: str) -> AuthenticatedUser:
    if not hmac.compare_digest(token.encode(), wanted.encode()):
        raise _refused("the token is not valid")
    return AuthenticatedUser(token=token, scheme=scheme)


ProtocolVersion = Literal["0.2.0", "0.2.1", "0.2.2", "0.2.3", "0.2.4", "0.2.5", "0.2.6", "0.3.0", "0.4.0"]
"""A version of the protocol."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class JSONRPCServerConfig(_Strict):
    """Where a server answers JSON-RPC."""

    rpc_path: str = "/a2a"
    agent_card_path: str = "/.well-known/agent-card.json"


class GRPCServerConfig(_Strict):
    """Where a server answers gRPC."""

    host: str = "localhost"
    port: int = 50051
    tls_cert_path: str | None = None
    tls_key_path: str | None = None
    max_workers: int = 10
    reflection_enabled: bool = False


class HTTPJSONConfig(_Strict):
    """That a server answers plain HTTP."""


class ServerTransportConfig(_Strict):
    """How a server is reached."""

    preferred: TransportType = "JSONRPC"
    jsonrpc: JSONRPCServerConfig = Field(default_factory=JSONRPCServerConfig)
    grpc: GRPCServerConfig | None = None
    http_json: HTTPJSONConfig | None = None


class ServerPushNotificationConfig(_Strict):
    """How a server signs its notifications."""

    signature_secret: SecretStr | None = None


def _modes() -> list[str]:
    return ["text/plain", "application/json"]


def _capabilities() -> dict[str, Any]:
    return {"streaming": True, "pushNotifications": False}


class AgentCardSigningConfig(BaseModel):
    """The key that a card is signed with."""

    model_config = ConfigDict(extra="forbid")

    private_key_path: FilePath | None = None
    """A PEM file with the key."""

    private_key_pem: SecretStr | None = None
    """The key itself, as PEM."""

    key_id: str | None = None
    """What the key is called."""

    algorithm: JWTAlgorithm = "RS256"
    """How is signed."""

    @model_validator(mode="after")
    def _with_key(self) -> Self:
        if self.private_key_path is None and self.private_key_pem is None:
            raise ValueError("set the key that signs the card: `private_key_path` or `private_key_pem`")
        return self

    def get_private_key(self) -> str:
        """Return the key in PEM format."""
        if self.private_key_pem is not None:
            return self.private_key_pem.get_secret_value()
        assert self.private_key_path is not None
        return self.private_key_path.read_text("utf-8")


class A2AServerConfig(ServedAgent):
    """How an agent would be served to others: its card, and where it answers. An agent that has one works as without it."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    name: str | None = None
    """What its card calls it."""

    description: str | None = None
    """What its card says of it."""

    version: str = "1.0.0"
    """Its version."""

    skills: list[Any] = Field(default_factory=list[Any])
    """What it can do."""

    default_input_modes: list[str] = Field(default_factory=_modes)
    """The content types that it reads."""

    default_output_modes: list[str] = Field(default_factory=_modes)
    """The content types that it writes."""

    capabilities: Any = Field(default_factory=_capabilities)
    """What of the protocol it can do."""

    protocol_version: ProtocolVersion = "0.3.0"
    """The version of the protocol."""

    provider: Any = None
    """Who offers it."""

    documentation_url: Url | None = None
    """Where it is described."""

    icon_url: Url | None = None
    """Its picture."""

    additional_interfaces: list[Any] = Field(default_factory=list[Any])
    """Further addresses at which it answers."""

    security: list[dict[str, list[str]]] = Field(default_factory=list[dict[str, list[str]]])
    """Which ways of saying who asks are needed."""

    security_schemes: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Which ways there are."""

    supports_authenticated_extended_card: bool = False
    """Whether known clients get a longer card."""

    extended_skills: list[Any] = Field(default_factory=list[Any])
    """What that one adds."""

    url: Url | None = None
    """Where it answers."""

    signing_config: AgentCardSigningConfig | None = None
    """What its card is signed with."""

    signatures: list[Any] | None = Field(default=None, exclude=True)
    """Signatures made before; an older way."""

    server_extensions: list[Any] = Field(default_factory=list[Any])
    """Objects that have a say in its answers."""

    push_notifications: ServerPushNotificationConfig | None = None
    """How it signs notifications."""

    transport: ServerTransportConfig = Field(default_factory=ServerTransportConfig)
    """How it is reached."""

    preferred_transport: TransportType | None = Field(default=None, exclude=True)
    """The older way of writing `transport=ServerTransportConfig(preferred=...)`."""

    auth: ServerAuthScheme | None = None
    """How it knows who asks."""

    @model_validator(mode="after")
    def _as_written_before(self) -> Self:
        if self.preferred_transport is not None:
            warn_deprecated("`preferred_transport=`", "`transport=ServerTransportConfig(preferred=...)`", by_hand=True)
            vars(self)["transport"] = self.transport.model_copy(update={"preferred": self.preferred_transport})
        if self.signatures is not None:
            warn_deprecated("`signatures=`", "`signing_config=AgentCardSigningConfig(...)`", by_hand=True)
        return self
