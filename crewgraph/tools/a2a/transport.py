"""How remote agents are reached, on both sides."""

from typing import Annotated, Any, Literal

from pydantic import AnyHttpUrl, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, TypeAdapter

__all__ = [
    "ClientTransportConfig",
    "GRPCClientConfig",
    "GRPCServerConfig",
    "HTTPJSONConfig",
    "JSONRPCClientConfig",
    "JSONRPCServerConfig",
    "ProtocolVersion",
    "ServerPushNotificationConfig",
    "ServerTransportConfig",
    "TransportType",
    "Url",
]

_ADDRESS = TypeAdapter[Any](AnyHttpUrl)


def _address(value: Any) -> Any:
    return str(_ADDRESS.validate_python(value))


Url = Annotated[str, BeforeValidator(_address)]
"""An address with http:// or https://."""

TransportType = Literal["JSONRPC", "GRPC", "HTTP+JSON"]
"""A binding of the protocol."""

ProtocolVersion = Literal["0.2.0", "0.2.1", "0.2.2", "0.2.3", "0.2.4", "0.2.5", "0.2.6", "0.3.0", "0.4.0"]
"""A version of the protocol."""


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
