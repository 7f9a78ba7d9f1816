"""Configuration of remote agents: the models that users pass as `Agent(a2a=...)`."""

import secrets
import warnings
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal, Self, cast

from pydantic import (
    AnyHttpUrl,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    TypeAdapter,
    field_validator,
    model_validator,
)

from crewgraph.contrib.a2a.auth import ClientAuthScheme
from crewgraph.contrib.a2a.extension import ValidatedA2AExtension
from crewgraph.deprecations import user_stacklevel, warn_deprecated
from crewgraph.redaction import RedactedModel


class StreamingConfig(BaseModel):
    """Stream results; fall back to polling if the remote agent cannot stream or the stream breaks."""


class PollingConfig(BaseModel):
    """Poll the remote agent until its task settles."""

    interval: float = Field(default=2.0, gt=0)
    """Seconds between polls."""

    timeout: float | None = Field(default=None, gt=0)
    """Seconds after which polling stops; None uses the remote agent's `timeout`."""

    max_polls: int | None = Field(default=None, gt=0)
    """Maximum number of polls; None is unlimited."""

    history_length: int = Field(default=100, gt=0)
    """Number of past messages requested with each poll."""


class WebhookSignatureMode(StrEnum):
    """Signature schemes for push notifications."""

    NONE = "none"
    HMAC_SHA256 = "hmac_sha256"


class WebhookSignatureConfig(RedactedModel):
    """Settings with which a receiver verifies push notifications."""

    mode: WebhookSignatureMode = WebhookSignatureMode.NONE
    """The signature scheme."""

    secret: SecretStr | None = None
    """The shared signing key."""

    timestamp_tolerance_seconds: int = Field(default=300, ge=0)
    """Maximum age of a notification, in seconds."""

    header_name: str = "X-A2A-Signature"
    """Name of the header that carries the signature."""

    timestamp_header_name: str = "X-A2A-Signature-Timestamp"
    """Name of the header that carries the timestamp."""

    @classmethod
    def generate_secret(cls, length: int = 32) -> str:
        """Return a URL-safe secret made of `length` random bytes."""
        return secrets.token_urlsafe(length)

    @classmethod
    def hmac_sha256(cls, secret: str | SecretStr, timestamp_tolerance_seconds: int = 300) -> "WebhookSignatureConfig":
        """Return settings for HMAC-SHA256 signatures with `secret`."""
        return cls(
            mode=WebhookSignatureMode.HMAC_SHA256,
            secret=secret if isinstance(secret, SecretStr) else SecretStr(secret),
            timestamp_tolerance_seconds=timestamp_tolerance_seconds,
        )


class PushNotificationConfig(RedactedModel):
    """Have the remote agent notify a webhook of yours; crewgraph polls in the meantime."""

    url: AnyHttpUrl
    """The webhook's URL."""

    id: str | None = None
    """Identifier of this configuration at the remote agent."""

    token: str | None = Field(default=None, repr=False)
    """Token sent with each notification so that the receiver can recognize it."""

    authentication: Any = None
    """How the remote agent authenticates to the webhook: `{"scheme": "Bearer", "credentials": ...}`."""

    timeout: float | None = Field(default=300.0, gt=0)
    """Seconds to wait for the result; None uses the remote agent's `timeout`."""

    interval: float = Field(default=2.0, gt=0)
    """Seconds between polls."""

    result_store: Any = None
    """Object with an async `get_result(task_id)` that the receiver fills; read before the remote agent is polled."""

    signature: WebhookSignatureConfig | None = None
    """How notifications are signed; read by the receiver only."""

    @field_validator("signature", mode="before")
    @classmethod
    def _secret(cls, value: Any) -> object:
        return WebhookSignatureConfig.hmac_sha256(value) if isinstance(value, (str, SecretStr)) else value


UpdateConfig = StreamingConfig | PollingConfig | PushNotificationConfig
"""How updates of a remote task arrive."""


_HTTP_URL = TypeAdapter[Any](AnyHttpUrl)


def _validated_url(value: Any) -> object:
    return str(_HTTP_URL.validate_python(value))


Url = Annotated[str, BeforeValidator(_validated_url)]
"""An http:// or https:// URL, validated and kept as a string."""

TransportType = Literal["JSONRPC", "GRPC", "HTTP+JSON"]
"""Transport bindings that the protocol defines."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class JSONRPCClientConfig(_Strict):
    """Settings for JSON-RPC over HTTP."""

    max_request_size: int | None = None
    """Maximum size of a request, in bytes."""


class GRPCClientConfig(_Strict):
    """Settings for gRPC; accepted, but crewgraph has no gRPC transport."""

    max_send_message_length: int | None = None
    max_receive_message_length: int | None = None
    keepalive_time_ms: int | None = None
    keepalive_timeout_ms: int | None = None


class ClientTransportConfig(_Strict):
    """Transport selection; crewgraph supports JSON-RPC only."""

    preferred: TransportType | None = None
    """The binding to use; anything but JSONRPC raises `CompileError` when a crew is compiled."""

    supported: list[TransportType] = Field(default_factory=lambda: ["JSONRPC"])
    """The bindings that the client accepts."""

    jsonrpc: JSONRPCClientConfig = Field(default_factory=JSONRPCClientConfig)
    """JSON-RPC settings."""

    grpc: GRPCClientConfig = Field(default_factory=GRPCClientConfig)
    """gRPC settings; ignored."""


def _update_config(value: Any) -> object:
    """Build the update config that a dict describes: push if it has a `url`, else polling, or streaming if empty."""
    if not isinstance(value, dict):
        return value
    kind = PushNotificationConfig if "url" in value else PollingConfig if value else StreamingConfig
    return kind.model_validate(value)


class RemoteAgent(RedactedModel):
    """An agent served elsewhere, to which an agent may delegate work."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    endpoint: Url
    """URL of the agent card, or the base URL below which `/.well-known/agent-card.json` lies."""

    auth: ClientAuthScheme | None = None
    """Authentication of requests."""

    timeout: int = 120
    """Seconds to wait for the card, and for the answer to each message."""

    max_turns: int = 10
    """Maximum number of messages sent in one conversation."""

    response_model: type[BaseModel] | None = None
    """Model that results must validate against; anything else counts as a failure."""

    fail_fast: bool = True
    """Whether an unreachable remote agent fails the run at its start; otherwise a warning is logged and it is left out."""

    trust_remote_completion_status: bool = False
    """Whether its result becomes the agent's answer without passing through the agent's model."""

    updates: Annotated[UpdateConfig, BeforeValidator(_update_config)] = Field(default_factory=StreamingConfig)
    """How updates of its tasks arrive."""

    client_extensions: list[ValidatedA2AExtension] = Field(default_factory=list[Any])
    """Extensions that shape the messages sent and the answers read."""

    transport: ClientTransportConfig = Field(default_factory=ClientTransportConfig)
    """Transport selection."""

    transport_protocol: TransportType | None = Field(default=None, exclude=True)
    """Deprecated: use `transport=ClientTransportConfig(preferred=...)`."""

    supported_transports: list[TransportType] | None = Field(default=None, exclude=True)
    """Deprecated: use `transport=ClientTransportConfig(supported=...)`."""

    @model_validator(mode="after")
    def _apply_deprecated_fields(self) -> Self:
        settings: dict[str, object] = {}
        if self.transport_protocol is not None:
            warn_deprecated("`transport_protocol=`", "`transport=ClientTransportConfig(preferred=...)`", by_hand=True)
            settings["preferred"] = self.transport_protocol
        if self.supported_transports is not None:
            warn_deprecated("`supported_transports=`", "`transport=ClientTransportConfig(supported=...)`", by_hand=True)
            settings["supported"] = self.supported_transports
        if settings:
            vars(self)["transport"] = self.transport.model_copy(update=settings)
        return self

    @property
    def requested_extensions(self) -> list[str]:
        """URIs of the protocol extensions to request."""
        return []

    @property
    def output_modes(self) -> list[str]:
        """Content types accepted in answers."""
        return ["text/plain", "application/json"]


class A2AClientConfig(RemoteAgent):
    """An agent served elsewhere, to which an agent may delegate work."""

    accepted_output_modes: list[str] = Field(default_factory=lambda: ["application/json"])
    """Content types accepted in answers."""

    extensions: list[str] = Field(default_factory=list[str])
    """URIs of the protocol extensions to request."""

    @property
    def requested_extensions(self) -> list[str]:
        return self.extensions

    @property
    def output_modes(self) -> list[str]:
        return self.accepted_output_modes


class A2AConfig(RemoteAgent):
    """Deprecated name of `A2AClientConfig`."""

    use_client_preference: bool | None = Field(default=None, exclude=True)
    """Ignored."""

    @model_validator(mode="after")
    def _warn_deprecated(self) -> Self:
        warn_deprecated("`A2AConfig`", "`A2AClientConfig`", by_hand=True)
        return self


class ServedAgent(RedactedModel):
    """Server settings: accepted in `Agent(a2a=...)`, without effect."""


_warned_about_server: list[bool] = []


def read_remotes(value: Any) -> Any:
    """Validate the value of `Agent(a2a=...)`, turning dicts into `A2AClientConfig`.

    Raises:
        ValueError: If an item is not a remote agent.
    """
    if isinstance(value, (list, tuple)):
        return [_read_remote(item) for item in cast("Sequence[Any]", value)]
    return _read_remote(value)


def _read_remote(value: Any) -> object:
    if isinstance(value, ServedAgent):
        if not _warned_about_server:
            _warned_about_server.append(True)
            warnings.warn(
                "`A2AServerConfig` has no effect: crewgraph does not serve agents. Serve the graph that "
                "`crew.compile()` returns with LangGraph's server or your own.",
                stacklevel=user_stacklevel(),
            )
        return value
    if isinstance(value, Mapping):
        return A2AClientConfig.model_validate(value)
    if not isinstance(value, RemoteAgent):
        raise ValueError(f"`a2a` takes `A2AClientConfig(endpoint=...)` or a list of them, not {value!r:.80}")
    return value


def remotes_of(value: Any) -> list[RemoteAgent]:
    """Return the remote agents in the value of `Agent(a2a=...)`."""
    items = cast("list[Any]", value) if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, RemoteAgent)]
