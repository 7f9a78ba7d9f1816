"""Remote agents as users describe them: what is given in `Agent(a2a=...)`."""

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

__all__ = [
    "A2AClientConfig",
    "A2AConfig",
    "ClientTransportConfig",
    "GRPCClientConfig",
    "JSONRPCClientConfig",
    "PollingConfig",
    "PushNotificationConfig",
    "RemoteAgent",
    "ServedAgent",
    "StreamingConfig",
    "TransportType",
    "UpdateConfig",
    "Url",
    "WebhookSignatureConfig",
    "WebhookSignatureMode",
    "read_remotes",
    "remotes_of",
]


class StreamingConfig(BaseModel):
    """The remote agent is listened to; asked again and again where it cannot stream, or the stream breaks off."""


class PollingConfig(BaseModel):
    """The remote agent is asked again and again."""

    interval: float = Field(default=2.0, gt=0)
    """How many seconds lie between."""

    timeout: float | None = Field(default=None, gt=0)
    """For how many seconds; as long as the `timeout` of the remote agent where None."""

    max_polls: int | None = Field(default=None, gt=0)
    """How often at the most."""

    history_length: int = Field(default=100, gt=0)
    """How many messages of the conversation the remote agent sends along."""


class WebhookSignatureMode(StrEnum):
    """How notifications are signed."""

    NONE = "none"
    HMAC_SHA256 = "hmac_sha256"


class WebhookSignatureConfig(BaseModel):
    """How a receiver of notifications knows that they are genuine."""

    mode: WebhookSignatureMode = WebhookSignatureMode.NONE
    """How they are signed."""

    secret: SecretStr | None = None
    """What they are signed with."""

    timestamp_tolerance_seconds: int = Field(default=300, ge=0)
    """How old they may be."""

    header_name: str = "X-A2A-Signature"
    """The header with the signature."""

    timestamp_header_name: str = "X-A2A-Signature-Timestamp"
    """The header with the time."""

    @classmethod
    def generate_secret(cls, length: int = 32) -> str:
        """A secret of so many random bytes, as text."""
        return secrets.token_urlsafe(length)

    @classmethod
    def hmac_sha256(cls, secret: str | SecretStr, timestamp_tolerance_seconds: int = 300) -> "WebhookSignatureConfig":
        """Signatures with a secret."""
        kept = secret if isinstance(secret, SecretStr) else SecretStr(secret)
        return cls(
            mode=WebhookSignatureMode.HMAC_SHA256,
            secret=kept,
            timestamp_tolerance_seconds=timestamp_tolerance_seconds,
        )


class PushNotificationConfig(BaseModel):
    """The remote agent tells an address of yours; the agent itself asks again and again meanwhile."""

    url: AnyHttpUrl
    """The address."""

    id: str | None = None
    """What the remote agent is to call it."""

    token: str | None = Field(default=None, repr=False)
    """What it sends along, so that the receiver knows it."""

    authentication: Any = None
    """How it says who it is: `{"schemes": [...], "credentials": ...}`."""

    timeout: float | None = Field(default=300.0, gt=0)
    """For how many seconds the agent waits."""

    interval: float = Field(default=2.0, gt=0)
    """How many seconds lie between two questions."""

    result_store: Any = None
    """Where the receiver puts what it was told; an object with `get_result(task_id)`, asked before the remote agent is."""

    signature: WebhookSignatureConfig | None = None
    """How notifications are signed; for the receiver."""

    @field_validator("signature", mode="before")
    @classmethod
    def _secret(cls, value: Any) -> Any:
        return WebhookSignatureConfig.hmac_sha256(value) if isinstance(value, (str, SecretStr)) else value


UpdateConfig = StreamingConfig | PollingConfig | PushNotificationConfig
"""A way of hearing of it."""


_ADDRESS = TypeAdapter[Any](AnyHttpUrl)


def _address(value: Any) -> Any:
    return str(_ADDRESS.validate_python(value))


Url = Annotated[str, BeforeValidator(_address)]
"""An address with http:// or https://."""

TransportType = Literal["JSONRPC", "GRPC", "HTTP+JSON"]
"""A binding of the protocol."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class JSONRPCClientConfig(_Strict):
    """Requests as JSON-RPC over HTTP."""

    max_request_size: int | None = None
    """How many bytes a request may have."""


class GRPCClientConfig(_Strict):
    """Requests over gRPC, which crewgraph does not speak."""

    max_send_message_length: int | None = None
    max_receive_message_length: int | None = None
    keepalive_time_ms: int | None = None
    keepalive_timeout_ms: int | None = None


class ClientTransportConfig(_Strict):
    """How a remote agent is reached: by JSON-RPC."""

    preferred: TransportType | None = None
    """The binding to take; anything but JSONRPC is refused when a crew is compiled."""

    supported: list[TransportType] = Field(default_factory=lambda: ["JSONRPC"])
    """The bindings that may be taken."""

    jsonrpc: JSONRPCClientConfig = Field(default_factory=JSONRPCClientConfig)
    """Settings of JSON-RPC."""

    grpc: GRPCClientConfig = Field(default_factory=GRPCClientConfig)
    """Settings of gRPC, of no use here."""


def _updates(value: Any) -> Any:
    """Fields as a dict, as what they are the fields of: an address is of a push, all else of polling."""
    if not isinstance(value, dict):
        return value
    kind = PushNotificationConfig if "url" in value else PollingConfig if value else StreamingConfig
    return kind.model_validate(value)


class RemoteAgent(BaseModel):
    """An agent elsewhere, to which work may be handed."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    endpoint: Url
    """The address of its card, or of the place where `/.well-known/agent-card.json` is."""

    auth: ClientAuthScheme | None = None
    """How requests say who makes them."""

    timeout: int = 120
    """How many seconds it has for its card, and for each message that it is sent."""

    max_turns: int = 10
    """How many messages it is sent in one conversation at the most."""

    response_model: type[BaseModel] | None = None
    """The form that its results are to have; one of another form is a failure."""

    fail_fast: bool = True
    """Whether a run fails at its begin where it cannot be reached; else the agent works without it, which is logged."""

    trust_remote_completion_status: bool = False
    """Whether its result is the agent's answer, without the agent's model looking at it."""

    updates: Annotated[UpdateConfig, BeforeValidator(_updates)] = Field(default_factory=StreamingConfig)
    """How is heard what it has done."""

    client_extensions: list[ValidatedA2AExtension] = Field(default_factory=list[Any])
    """Objects that have a say in what is sent and in what is read."""

    transport: ClientTransportConfig = Field(default_factory=ClientTransportConfig)
    """How it is reached."""

    transport_protocol: TransportType | None = Field(default=None, exclude=True)
    """The older way of writing `transport=ClientTransportConfig(preferred=...)`."""

    supported_transports: list[TransportType] | None = Field(default=None, exclude=True)
    """The older way of writing `transport=ClientTransportConfig(supported=...)`."""

    @model_validator(mode="after")
    def _as_written_before(self) -> Self:
        given: dict[str, Any] = {}
        if self.transport_protocol is not None:
            warn_deprecated("`transport_protocol=`", "`transport=ClientTransportConfig(preferred=...)`", by_hand=True)
            given["preferred"] = self.transport_protocol
        if self.supported_transports is not None:
            warn_deprecated("`supported_transports=`", "`transport=ClientTransportConfig(supported=...)`", by_hand=True)
            given["supported"] = self.supported_transports
        if given:
            vars(self)["transport"] = self.transport.model_copy(update=given)
        return self

    @property
    def asked_extensions(self) -> list[str]:
        """The extensions of the protocol that are asked for."""
        return []

    @property
    def output_modes(self) -> list[str]:
        """The content types that are understood."""
        return ["text/plain", "application/json"]


class A2AClientConfig(RemoteAgent):
    """An agent elsewhere, to which work may be handed."""

    accepted_output_modes: list[str] = Field(default_factory=lambda: ["application/json"])
    """The content types that the remote agent is told to answer in."""

    extensions: list[str] = Field(default_factory=list[str])
    """Addresses of extensions of the protocol that are asked for."""

    @property
    def asked_extensions(self) -> list[str]:
        return self.extensions

    @property
    def output_modes(self) -> list[str]:
        return self.accepted_output_modes


class A2AConfig(RemoteAgent):
    """The older name of `A2AClientConfig`."""

    use_client_preference: bool | None = Field(default=None, exclude=True)
    """Of no effect."""

    @model_validator(mode="after")
    def _told(self) -> Self:
        warn_deprecated("`A2AConfig`", "`A2AClientConfig`", by_hand=True)
        return self


class ServedAgent(BaseModel):
    """How an agent would be served to others: accepted in `Agent(a2a=...)`, without effect."""


_warned: list[bool] = []


def read_remotes(given: Any) -> Any:
    """What is given in `Agent(a2a=...)`, dicts read as the remote agents that they describe.

    Raises:
        ValueError: something is no remote agent.
    """
    if isinstance(given, (list, tuple)):
        return [_remote(item) for item in cast("Sequence[Any]", given)]
    return _remote(given)


def _remote(given: Any) -> Any:
    if isinstance(given, ServedAgent):
        if not _warned:
            _warned.append(True)
            warnings.warn(
                "an agent with an `A2AServerConfig` works as without it: crewgraph serves nobody. "
                "`crew.compile()` gives a graph, for LangGraph's server or one of your own.",
                stacklevel=user_stacklevel(),
            )
        return given
    if isinstance(given, Mapping):
        return A2AClientConfig.model_validate(given)
    if not isinstance(given, RemoteAgent):
        raise ValueError(f"a remote agent is an `A2AClientConfig(endpoint=...)`, unlike {given!r:.80}")
    return given


def remotes_of(given: Any) -> list[RemoteAgent]:
    """The remote agents among what is given in `Agent(a2a=...)`."""
    items = cast("list[Any]", given) if isinstance(given, list) else [given]
    return [item for item in items if isinstance(item, RemoteAgent)]
