"""CrewAI's A2A server and authentication configuration, as plain data: crewgraph does not serve agents."""

import hmac
import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, FilePath, HttpUrl, SecretStr, model_validator

from crewgraph.contrib.a2a.config import ServedAgent, TransportType, Url
from crewgraph.deprecations import warn_deprecated
from crewgraph.errors import PicklableError

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
"""A signature algorithm."""


def _secret(value: Any) -> Any:
    return SecretStr(value) if isinstance(value, str) else value


_Secret = Annotated[SecretStr, BeforeValidator(_secret)]


class HTTPException(PicklableError):
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
    """The token that was presented."""

    scheme: str
    """The authentication scheme."""

    claims: dict[str, Any] | None = None
    """The claims about the user."""


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
        expected = self.token.get_secret_value() if self.token else os.environ.get("AUTH_TOKEN")
        if not expected:
            raise _refused("no token is configured")
        return _equal(token, expected, "simple_token")


class APIKeyServerAuth(ServerAuthScheme):
    """A single API key shared by all clients."""

    name: str = "X-API-Key"
    """Where the key is sent."""

    location: Literal["header", "query", "cookie"] = "header"
    """The name of the header, parameter or cookie."""

    api_key: _Secret
    """The key."""

    async def authenticate(self, token: str) -> AuthenticatedUser:
        return _equal(token, self.api_key.get_secret_value(), "api_key")


class MTLSServerAuth(ServerAuthScheme):
    """Client certificates, already verified by the connection."""

    description: str = "Mutual TLS certificate authentication"
    """The description shown in the agent card."""

    async def authenticate(self, token: str) -> AuthenticatedUser:
        return AuthenticatedUser(token=token, scheme="mtls")


class EnterpriseTokenAuth(ServerAuthScheme):
    """Tokens of CrewAI's hosted platform, which cannot be verified here."""

    async def authenticate(self, token: str) -> AuthenticatedUser:
        raise NotImplementedError("tokens of CrewAI's hosted platform can only be checked there")


class _Signed(ServerAuthScheme):
    """Base class of schemes whose tokens are signed with published keys."""

    jwks_url: HttpUrl | None = None
    """The URL of the keys."""

    algorithms: list[str] = Field(default_factory=lambda: ["RS256"])
    """The accepted signature algorithms."""

    jwks_cache_ttl: int = Field(default=3600, ge=60)
    """How long keys are cached, in seconds."""

    clock_skew_seconds: float = Field(default=30.0, ge=0)
    """The tolerated clock skew in seconds."""

    async def authenticate(self, token: str) -> AuthenticatedUser:
        """Refuse every token.

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
    """The issuer URL."""

    audience: str
    """The required audience."""

    required_claims: list[str] = Field(default_factory=lambda: ["exp", "iat", "iss", "aud", "sub"])
    """The required claims."""


class OAuth2ServerAuth(_Signed):
    """Tokens issued and signed by an OAuth 2 server."""

    token_url: HttpUrl
    """The token URL."""

    authorization_url: HttpUrl | None = None
    """The authorization URL."""

    refresh_url: HttpUrl | None = None
    """The refresh URL."""

    scopes: dict[str, str] = Field(default_factory=dict[str, str])
    """The available scopes with their descriptions."""

    introspection_url: HttpUrl | None = None
    """The introspection URL."""

    introspection_client_id: str | None = None
    """The client id for introspection."""

    introspection_client_secret: _Secret | None = None
    """The client secret for introspection."""

    audience: str | None = None
    """The required audience."""

    issuer: str | None = None
    """The required issuer."""

    required_claims: list[str] = Field(default_factory=lambda: ["exp", "iat"])
    """The required claims."""

    @model_validator(mode="after")
    def _with_keys(self) -> Self:
        if self.jwks_url is None and self.introspection_url is None:
            raise ValueError("tokens are checked with keys or by introspection: set `jwks_url` or `introspection_url`")
        return self

    def to_security_scheme(self) -> dict[str, Any]:
        """Return the scheme as it appears in an agent card (JSON)."""
        urls = {"tokenUrl": self.token_url, "authorizationUrl": self.authorization_url, "refreshUrl": self.refresh_url}
        flow = {name: str(url) for name, url in urls.items() if url is not None} | {"scopes": self.scopes}
        kind = "authorizationCode" if self.authorization_url else "clientCredentials"
        return {"type": "oauth2", "flows": {kind: flow}}


def _equal(token: str, expected: str, scheme: str) -> AuthenticatedUser:
    if not hmac.compare_digest(token.encode(), expected.encode()):
        raise _refused("the token is not valid")
    return AuthenticatedUser(token=token, scheme=scheme)


ProtocolVersion = Literal["0.2.0", "0.2.1", "0.2.2", "0.2.3", "0.2.4", "0.2.5", "0.2.6", "0.3.0", "0.4.0"]
"""A protocol version."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class JSONRPCServerConfig(_Strict):
    """The JSON-RPC endpoint of a server."""

    rpc_path: str = "/a2a"
    agent_card_path: str = "/.well-known/agent-card.json"


class GRPCServerConfig(_Strict):
    """The gRPC endpoint of a server."""

    host: str = "localhost"
    port: int = 50051
    tls_cert_path: str | None = None
    tls_key_path: str | None = None
    max_workers: int = 10
    reflection_enabled: bool = False


class HTTPJSONConfig(_Strict):
    """The plain HTTP endpoint of a server."""


class ServerTransportConfig(_Strict):
    """The transports of a server."""

    preferred: TransportType = "JSONRPC"
    jsonrpc: JSONRPCServerConfig = Field(default_factory=JSONRPCServerConfig)
    grpc: GRPCServerConfig | None = None
    http_json: HTTPJSONConfig | None = None


class ServerPushNotificationConfig(_Strict):
    """How a server signs its push notifications."""

    signature_secret: SecretStr | None = None


def _modes() -> list[str]:
    return ["text/plain", "application/json"]


def _capabilities() -> dict[str, Any]:
    return {"streaming": True, "pushNotifications": False}


class AgentCardSigningConfig(BaseModel):
    """The key that signs an agent card."""

    model_config = ConfigDict(extra="forbid")

    private_key_path: FilePath | None = None
    """The path of a PEM file with the key."""

    private_key_pem: SecretStr | None = None
    """The key as PEM text."""

    key_id: str | None = None
    """The key id."""

    algorithm: JWTAlgorithm = "RS256"
    """The signature algorithm."""

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
    """The card and endpoints an agent would be served with. An agent behaves the same with or without it."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    name: str | None = None
    """The name in the card."""

    description: str | None = None
    """The description in the card."""

    version: str = "1.0.0"
    """The version of the agent."""

    skills: list[Any] = Field(default_factory=list[Any])
    """The skills."""

    default_input_modes: list[str] = Field(default_factory=_modes)
    """The accepted content types."""

    default_output_modes: list[str] = Field(default_factory=_modes)
    """The produced content types."""

    capabilities: Any = Field(default_factory=_capabilities)
    """The supported protocol features."""

    protocol_version: ProtocolVersion = "0.3.0"
    """The protocol version."""

    provider: Any = None
    """The organization that offers the agent."""

    documentation_url: Url | None = None
    """The documentation URL."""

    icon_url: Url | None = None
    """The icon URL."""

    additional_interfaces: list[Any] = Field(default_factory=list[Any])
    """Additional endpoints."""

    security: list[dict[str, list[str]]] = Field(default_factory=list[dict[str, list[str]]])
    """The required security schemes."""

    security_schemes: dict[str, Any] = Field(default_factory=dict[str, Any])
    """The available security schemes."""

    supports_authenticated_extended_card: bool = False
    """Whether authenticated clients receive an extended card."""

    extended_skills: list[Any] = Field(default_factory=list[Any])
    """The skills added by the extended card."""

    url: Url | None = None
    """The URL of the server."""

    signing_config: AgentCardSigningConfig | None = None
    """The key that signs the card."""

    signatures: list[Any] | None = Field(default=None, exclude=True)
    """Precomputed signatures (deprecated)."""

    server_extensions: list[Any] = Field(default_factory=list[Any])
    """Extensions that can change responses."""

    push_notifications: ServerPushNotificationConfig | None = None
    """How push notifications are signed."""

    transport: ServerTransportConfig = Field(default_factory=ServerTransportConfig)
    """The transports."""

    preferred_transport: TransportType | None = Field(default=None, exclude=True)
    """Deprecated form of `transport=ServerTransportConfig(preferred=...)`."""

    auth: ServerAuthScheme | None = None
    """The authentication scheme."""

    @model_validator(mode="after")
    def _as_written_before(self) -> Self:
        if self.preferred_transport is not None:
            warn_deprecated("`preferred_transport=`", "`transport=ServerTransportConfig(preferred=...)`", by_hand=True)
            vars(self)["transport"] = self.transport.model_copy(update={"preferred": self.preferred_transport})
        if self.signatures is not None:
            warn_deprecated("`signatures=`", "`signing_config=AgentCardSigningConfig(...)`", by_hand=True)
        return self
