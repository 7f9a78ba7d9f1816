"""Classes that moved: where those are now that stored documents name by their former modules."""

from typing import Final

__all__ = ["current_name"]

_MOVED: Final[dict[str, str]] = {
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
