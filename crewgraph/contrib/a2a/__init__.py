"""Remote agents reached over the Agent2Agent protocol, configured with `Agent(a2a=...)`."""

from crewgraph.contrib.a2a.auth import (
    APIKeyAuth,
    BearerTokenAuth,
    ClientAuthScheme,
    HTTPBasicAuth,
    HTTPDigestAuth,
    OAuth2AuthorizationCode,
    OAuth2ClientCredentials,
    TLSConfig,
)
from crewgraph.contrib.a2a.config import (
    A2AClientConfig,
    A2AConfig,
    PollingConfig,
    PushNotificationConfig,
    StreamingConfig,
)

__all__ = [
    "A2AClientConfig",
    "A2AConfig",
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
