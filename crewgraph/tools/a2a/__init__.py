"""Remote agents, spoken to by the Agent2Agent protocol: what is given in `Agent(a2a=...)`."""

from crewgraph.tools.a2a.auth import APIKeyAuth, BearerTokenAuth, ClientAuthScheme, HTTPBasicAuth, HTTPDigestAuth
from crewgraph.tools.a2a.config import A2AClientConfig, A2AConfig
from crewgraph.tools.a2a.oauth import OAuth2AuthorizationCode, OAuth2ClientCredentials
from crewgraph.tools.a2a.server import A2AServerConfig
from crewgraph.tools.a2a.tls import TLSConfig
from crewgraph.tools.a2a.updates import PollingConfig, PushNotificationConfig, StreamingConfig

__all__ = [
    "A2AClientConfig",
    "A2AConfig",
    "A2AServerConfig",
    "APIKeyAuth",
    "BearerTokenAuth",
    "ClientAuthScheme",
    "HTTPBasicAuth",
    "HTTPDigestAuth",
    "OAuth2AuthorizationCode",
    "OAuth2ClientCredentials",
    "PollingConfig",
    "PushNotificationConfig",
    "StreamingConfig",
    "TLSConfig",
]
