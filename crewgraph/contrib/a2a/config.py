"""Configuration of remote agents: the models that users pass as `Agent(a2a=...)`."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self, cast

from pydantic import (
    AnyHttpUrl,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
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


class PushNotificationConfig(RedactedModel):
    """Have the remote agent notify a webhook of yours; crewgraph polls in the meantime."""

    url: AnyHttpUrl
    """The webhook's URL."""

    id: str | None = None
    """Identifier of this configuration at the remote agent."""

    token: str | None = Field(default=None, repr=False)
    """Token sent with each notification so that the receiver can recognize it."""

    authentication: Any = None
    """How the remote agent authenticates to the webhook: `{"scheme": "Bearer", "credentials": ...}`; or with a list `schemes`."""

    timeout: float | None = Field(default=300.0, gt=0)
    """Seconds to wait for the result; None uses the remote agent's `timeout`."""

    interval: float = Field(default=2.0, gt=0)
    """Seconds between polls."""

    result_store: Any = None
    """Ignored: the remote agent is asked for the result."""

    signature: Any = Field(default=None, exclude=True, repr=False)
    """Ignored: the receiver of the notifications checks them."""


UpdateConfig = StreamingConfig | PollingConfig | PushNotificationConfig
"""How updates of a remote task arrive."""


_HTTP_URL = TypeAdapter[Any](AnyHttpUrl)


def _validated_url(value: Any) -> object:
    return str(_HTTP_URL.validate_python(value))


Url = Annotated[str, BeforeValidator(_validated_url)]
"""An http:// or https:// URL, validated and kept as a string."""

TransportType = Literal["JSONRPC", "GRPC", "HTTP+JSON"]
"""Transport bindings that the protocol defines."""


class ClientTransportConfig(BaseModel):
    """Transport selection; crewgraph supports JSON-RPC only."""

    model_config = ConfigDict(extra="forbid")

    preferred: TransportType | None = None
    """The binding to use; anything but JSONRPC raises `CompileError` when a crew is compiled."""

    supported: list[TransportType] = Field(default_factory=lambda: ["JSONRPC"])
    """The bindings that the client accepts."""


def _update_config(value: Any) -> object:
    """Build the update config that a dict describes: push if it has a `url`, else polling, or streaming if empty."""
    if not isinstance(value, dict):
        return value
    kind = PushNotificationConfig if "url" in value else PollingConfig if value else StreamingConfig
    return kind.model_validate(value)


class A2AClientConfig(RedactedModel):
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

    accepted_output_modes: list[str] = Field(default_factory=lambda: ["application/json"])
    """Content types accepted in answers."""

    extensions: list[str] = Field(default_factory=list[str])
    """URIs of the protocol extensions to request."""

    @model_validator(mode="after")
    def _apply_deprecated_fields(self) -> Self:
        for old, new in (("transport_protocol", "preferred"), ("supported_transports", "supported")):
            if (value := getattr(self, old)) is not None:
                warn_deprecated(f"`{old}=`", f"`transport=ClientTransportConfig({new}=...)`", by_hand=True)
                vars(self)["transport"] = self.transport.model_copy(update={new: value})
        return self


class A2AConfig(A2AClientConfig):
    """Deprecated name of `A2AClientConfig`."""

    accepted_output_modes: list[str] = Field(default_factory=lambda: ["text/plain", "application/json"])
    """Content types accepted in answers."""

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
    if not isinstance(value, A2AClientConfig):
        raise ValueError(f"`a2a` takes `A2AClientConfig(endpoint=...)` or a list of them, not {value!r:.80}")
    return value


def remotes_of(value: Any) -> list[A2AClientConfig]:
    """Return the remote agents in the value of `Agent(a2a=...)`."""
    items = cast("list[Any]", value) if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, A2AClientConfig)]
