"""Classes that moved: where those are now that stored documents name by their former modules."""

from typing import Final

__all__ = ["current_name"]

_SERVER: Final = "crewgraph_compat.stand_ins.a2a_server"

_MOVED: Final[dict[str, str]] = {
    "crewgraph.files.file": "crewgraph.contrib.files.file",
    "crewgraph.files.source": "crewgraph.contrib.files.source",
    "crewgraph.skills.skill": "crewgraph.contrib.skills.skill",
    "crewgraph.skills.tool": "crewgraph.contrib.skills.tool",
    "crewgraph.tools.a2a.auth": "crewgraph.contrib.a2a.auth",
    "crewgraph.tools.a2a.config": "crewgraph.contrib.a2a.config",
    "crewgraph.tools.a2a.oauth": "crewgraph.contrib.a2a.auth",
    "crewgraph.tools.a2a.server": _SERVER,
    "crewgraph.tools.a2a.server_auth": _SERVER,
    "crewgraph.tools.a2a.tls": "crewgraph.contrib.a2a.auth",
    "crewgraph.tools.a2a.tool": "crewgraph.contrib.a2a.tool",
    "crewgraph.tools.a2a.transport": "crewgraph.contrib.a2a.config",
    "crewgraph.tools.a2a.transport:GRPCServerConfig": _SERVER,
    "crewgraph.tools.a2a.transport:HTTPJSONConfig": _SERVER,
    "crewgraph.tools.a2a.transport:JSONRPCServerConfig": _SERVER,
    "crewgraph.tools.a2a.transport:ServerPushNotificationConfig": _SERVER,
    "crewgraph.tools.a2a.transport:ServerTransportConfig": _SERVER,
    "crewgraph.tools.a2a.updates": "crewgraph.contrib.a2a.config",
    "crewgraph.tools.input_file": "crewgraph.contrib.files.agent_files",
    "crewgraph.definitions.chat_inputs": "crewgraph.contrib.conversations.crew_inputs",
    "crewgraph.definitions.declared.actions": "crewgraph.contrib.declared.actions",
    "crewgraph.definitions.declared.conversation": "crewgraph.contrib.declared.config",
    "crewgraph.definitions.declared.crew": "crewgraph.contrib.declared.crew",
    "crewgraph.definitions.declared.flow": "crewgraph.contrib.declared.flow",
    "crewgraph.definitions.declared.known_keys": "crewgraph.contrib.declared.config",
    "crewgraph.definitions.declared.method": "crewgraph.contrib.declared.method",
    "crewgraph.definitions.declared.schema_model": "crewgraph.contrib.declared.state",
    "crewgraph.definitions.declared.state": "crewgraph.contrib.declared.state",
    "crewgraph.definitions.flow.conversation_config": "crewgraph.contrib.conversations.config",
    "crewgraph.definitions.flow.conversation_state": "crewgraph.contrib.conversations.state",
    "crewgraph.definitions.checkpoint_config": "crewgraph.contrib.snapshots.config",
    "crewgraph.snapshots.json_provider": "crewgraph.contrib.snapshots.providers",
    "crewgraph.snapshots.provider": "crewgraph.contrib.snapshots.providers",
    "crewgraph.snapshots.sqlite_provider": "crewgraph.contrib.snapshots.providers",
}
"""The module of today, by the former module, or by a class in it."""


def current_name(name: str) -> str:
    """The name of a class as it is today.

    Args:
        name: "module:Class", as a document holds it.
    """
    former, colon, path = name.partition(":")
    module = _MOVED.get(name) or _MOVED.get(former, former)
    return f"{module}{colon}{path}"
