"""How an agent would be served to others; kept as data: crewgraph serves nobody."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, FilePath, SecretStr, model_validator

from crewgraph.deprecations import warn_deprecated
from crewgraph.tools.a2a.server_auth import JWTAlgorithm, ServerAuthScheme
from crewgraph.tools.a2a.transport import (
    ProtocolVersion,
    ServerPushNotificationConfig,
    ServerTransportConfig,
    TransportType,
    Url,
)

__all__ = ["A2AServerConfig", "AgentCardSigningConfig"]


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
            raise ValueError("give the key a card is signed with: `private_key_path` or `private_key_pem`")
        return self

    def get_private_key(self) -> str:
        """The key, as PEM."""
        if self.private_key_pem is not None:
            return self.private_key_pem.get_secret_value()
        assert self.private_key_path is not None
        return self.private_key_path.read_text("utf-8")


class A2AServerConfig(BaseModel):
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
