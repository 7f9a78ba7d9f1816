"""Remote agents as users describe them: what is given in `Agent(a2a=...)`."""

from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from crewgraph.deprecations import warn_deprecated
from crewgraph.tools.a2a.auth import ClientAuthScheme
from crewgraph.tools.a2a.extension import ValidatedA2AExtension
from crewgraph.tools.a2a.transport import ClientTransportConfig, TransportType, Url
from crewgraph.tools.a2a.updates import PollingConfig, PushNotificationConfig, StreamingConfig, UpdateConfig

__all__ = ["A2AClientConfig", "A2AConfig", "RemoteAgent"]


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
