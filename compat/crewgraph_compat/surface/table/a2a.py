"""Agents elsewhere."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_CLIENT_AUTH = {
    **rows(
        "crewgraph.contrib.a2a.auth",
        "APIKeyAuth",
        "BearerTokenAuth",
        "ClientAuthScheme",
        "HTTPBasicAuth",
        "HTTPDigestAuth",
        AuthScheme="ClientAuthScheme",
    ),
    **rows("crewgraph.contrib.a2a.auth", "OAuth2AuthorizationCode", "OAuth2ClientCredentials"),
}
_TLS = rows("crewgraph.contrib.a2a.auth", "TLSConfig")
_SERVER_AUTH = rows(
    "crewgraph_compat.stand_ins.a2a_server",
    "AuthenticatedUser",
    "EnterpriseTokenAuth",
    "OIDCAuth",
    "ServerAuthScheme",
    "SimpleTokenAuth",
)
_SERVER_PARTS = rows(
    "crewgraph_compat.stand_ins.a2a_server",
    "APIKeyServerAuth",
    "HTTPException",
    "HTTP_401_UNAUTHORIZED",
    "HTTP_500_INTERNAL_SERVER_ERROR",
    "HTTP_503_SERVICE_UNAVAILABLE",
    "JWTAlgorithm",
    "MTLSServerAuth",
    "OAuth2ServerAuth",
)
_CONFIGS = {
    **rows("crewgraph.contrib.a2a.config", "A2AClientConfig", "A2AConfig"),
    **rows("crewgraph_compat.stand_ins.a2a_server", "A2AServerConfig"),
}
_EXTENSION = rows(
    "crewgraph.contrib.a2a.extension",
    "A2AExtension",
    "ExtensionRegistry",
    "ValidatedA2AExtension",
    ConversationState="ExtensionState",
)
_SERVER_EXTENSION = rows("crewgraph_compat.stand_ins.a2ui.extensions", "ExtensionContext", "ServerExtension")
_TYPES = {
    **rows("crewgraph.contrib.a2a.config", "TransportType", "Url"),
    **rows("crewgraph_compat.stand_ins.a2a_server", "ProtocolVersion"),
}
_POLLING = rows("crewgraph.contrib.a2a.config", "PollingConfig")
_PUSH = rows("crewgraph.contrib.a2a.config", "PushNotificationConfig")
_STREAMING = rows("crewgraph.contrib.a2a.config", "StreamingConfig")
_SIGNATURE = rows("crewgraph.contrib.a2a.config", "WebhookSignatureConfig", "WebhookSignatureMode")
_UPDATES = {**_POLLING, **_PUSH, **_STREAMING, **rows("crewgraph.contrib.a2a.config", "UpdateConfig")}
_CHECKS = rows("crewgraph_compat.stand_ins.a2ui.messages", "validate_a2ui_event", "validate_a2ui_message")
_MESSAGES = rows(
    "crewgraph_compat.stand_ins.a2ui.messages",
    "A2UIEvent",
    "A2UIMessage",
    "A2UIResponse",
    "BeginRendering",
    "DataModelUpdate",
    "DeleteSurface",
    "SurfaceUpdate",
    "UserAction",
)
_MESSAGE_PARTS = rows(
    "crewgraph_compat.stand_ins.a2ui.messages",
    "ClientError",
    "ComponentEntry",
    "DataEntry",
    "MapEntry",
    "Styles",
    "extract_a2ui_json_objects",
)
_UI_CLIENT = rows("crewgraph_compat.stand_ins.a2ui.extensions", "A2UIClientExtension")
_UI_SERVER = rows("crewgraph_compat.stand_ins.a2ui.extensions", "A2UIServerExtension")
_CATALOG = rows("crewgraph_compat.stand_ins.a2ui.extensions", "A2UI_STANDARD_CATALOG_ID")
_UI_STATE = rows("crewgraph_compat.stand_ins.a2ui.extensions", "A2UIConversationState", "A2UI_MIME_TYPE")
_LOGGING = rows(
    "crewgraph_compat.stand_ins.agents.remote", "JSONFormatter", "LogContext", "configure_json_logging", "get_logger"
)
_CHOICE = rows(
    "crewgraph_compat.stand_ins.agents.remote",
    "A2AClientConfigTypes",
    "A2AConfigTypes",
    "create_agent_response_model",
    "extract_a2a_agent_ids_from_config",
    "get_a2a_agents_and_response_model",
)
_PROTOCOL = rows("crewgraph_compat.stand_ins.agents.remote", "AgentResponseProtocol", "PartsDict", "PartsMetadataDict")

MODULES: dict[str, dict[str, str]] = {
    "crewai.a2a": _CONFIGS,
    "crewai.a2a.auth": {**_CLIENT_AUTH, **_SERVER_AUTH, **_TLS},
    "crewai.a2a.auth.client_schemes": {**_CLIENT_AUTH, **_TLS},
    "crewai.a2a.auth.schemas": {name: _CLIENT_AUTH[name] for name in _CLIENT_AUTH if name != "ClientAuthScheme"},
    "crewai.a2a.auth.server_schemes": {**_SERVER_AUTH, **_SERVER_PARTS},
    "crewai.a2a.config": {
        **_CONFIGS,
        **_TYPES,
        **rows("crewgraph.contrib.a2a.auth", "ClientAuthScheme"),
        **rows("crewgraph.contrib.a2a.extension", "ValidatedA2AExtension"),
        **rows("crewgraph_compat.stand_ins.a2a_server", "AgentCardSigningConfig"),
        **rows("crewgraph_compat.stand_ins.a2a_server", "ServerAuthScheme", SigningAlgorithm="JWTAlgorithm"),
        **rows("crewgraph.contrib.a2a.config", "ClientTransportConfig", "GRPCClientConfig", "JSONRPCClientConfig"),
        **rows(
            "crewgraph_compat.stand_ins.a2a_server",
            "GRPCServerConfig",
            "HTTPJSONConfig",
            "JSONRPCServerConfig",
            "ServerPushNotificationConfig",
            "ServerTransportConfig",
        ),
    },
    "crewai.a2a.extensions": {**_EXTENSION, **rows("crewgraph_compat.stand_ins.a2ui.extensions", "ServerExtension")},
    "crewai.a2a.extensions.a2ui": {**_CATALOG, **_CHECKS, **_MESSAGES, **_UI_CLIENT, **_UI_SERVER},
    "crewai.a2a.extensions.a2ui.client_extension": {**_CATALOG, **_UI_CLIENT, **_UI_STATE},
    "crewai.a2a.extensions.a2ui.models": {**_MESSAGES, **_MESSAGE_PARTS},
    "crewai.a2a.extensions.a2ui.server_extension": {
        **_CATALOG,
        **_UI_SERVER,
        **rows("crewgraph_compat.stand_ins.a2ui.extensions", "A2UI_EXTENSION_URI", "A2UI_MIME_TYPE"),
    },
    "crewai.a2a.extensions.a2ui.validator": {
        **_CHECKS,
        **rows("crewgraph_compat.stand_ins.a2ui.messages", "A2UIValidationError"),
    },
    "crewai.a2a.extensions.base": _EXTENSION,
    "crewai.a2a.extensions.server": _SERVER_EXTENSION,
    "crewai.a2a.types": {**_PROTOCOL, **_TYPES},
    "crewai.a2a.updates": _UPDATES,
    "crewai.a2a.updates.polling": {},
    "crewai.a2a.updates.polling.config": _POLLING,
    "crewai.a2a.updates.push_notifications": {},
    "crewai.a2a.updates.push_notifications.config": _PUSH,
    "crewai.a2a.updates.push_notifications.signature": _SIGNATURE,
    "crewai.a2a.updates.streaming": {},
    "crewai.a2a.updates.streaming.config": _STREAMING,
    "crewai.a2a.utils": {},
    "crewai.a2a.utils.logging": _LOGGING,
    "crewai.a2a.utils.response_model": {**_CHOICE, **_CONFIGS},
}
"""The modules of this area."""
