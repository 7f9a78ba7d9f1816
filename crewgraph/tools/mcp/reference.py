"""What may stand in `mcps=[...]`: descriptions of servers, their fields as a dict, or addresses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, cast
from urllib.parse import urlsplit

from crewgraph.errors import DefinitionError
from crewgraph.tools.mcp.server import MCPServer, MCPServerHTTP, MCPServerSSE, MCPServerStdio

__all__ = ["Reference", "reference", "references"]

_FORMS = (
    'Give an address ("https://host/mcp", for one of its tools "https://host/mcp#tool"), or an `MCPServerStdio`, '
    "`MCPServerHTTP` or `MCPServerSSE`."
)


@dataclass(frozen=True)
class Reference:
    """A server, and which of its tools is meant."""

    server: MCPServer
    only: str | None = None
    """The one tool that is meant; None for all that the server's filter lets pass."""


def references(given: Sequence[Any]) -> list[Reference]:
    """What users gave, read; the same text gives the same server.

    Raises:
        DefinitionError: something of it leads to no server.
    """
    return [reference(one) for one in given]


def reference(given: Any) -> Reference:
    """One thing that a user gave; also what the package `mcp` calls `StdioServerParameters`.

    Raises:
        DefinitionError: it leads to no server.
    """
    if isinstance(given, Reference):
        return given
    if isinstance(given, MCPServer):
        return Reference(given)
    if isinstance(given, str):
        return _addressed(given)
    if isinstance(given, Mapping):
        return Reference(_described(cast(Mapping[str, Any], given)))
    if isinstance(command := getattr(given, "command", None), str):
        args, env = getattr(given, "args", None), getattr(given, "env", None)
        return Reference(MCPServerStdio(command=command, args=list(args or ()), env=env))
    raise DefinitionError(f"{given!r:.80} is no MCP server. {_FORMS}")


@lru_cache(maxsize=256)
def _addressed(text: str) -> Reference:
    address, _, only = text.strip().partition("#")
    parts = urlsplit(address)
    if parts.scheme == "https" or (parts.scheme == "http" and _is_near(parts.hostname)):
        return Reference(MCPServerHTTP(url=address), only or None)
    if parts.scheme == "http":
        raise DefinitionError(
            f"the MCP server `{parts.hostname}` is named by an address without encryption. Write https://, or "
            "`MCPServerHTTP(url=...)` if that is what you want."
        )
    if parts.scheme == "crewai-amp" or not parts.scheme:
        raise DefinitionError(
            f"the MCP server {text!r:.80} is named as CrewAI's hosted platform names them, which crewgraph does not ask. {_FORMS}"
        )
    raise DefinitionError(f"{text!r:.80} is no address of an MCP server. {_FORMS}")


def _is_near(host: str | None) -> bool:
    try:
        return host == "localhost" or ip_address(host or "").is_loopback
    except ValueError:
        return False


def _described(fields: Mapping[str, Any]) -> MCPServer:
    """A server from its fields, as files hold them; `transport` or `type` may say which of those with an address it is."""
    named = {name: value for name, value in fields.items() if name not in ("transport", "type")}
    transport = str(fields.get("transport") or fields.get("type") or "").lower()
    if "command" in named:
        return MCPServerStdio(**named)
    if "url" not in named:
        raise DefinitionError(f"an MCP server has a `command` or a `url`, and {sorted(fields)} has neither. {_FORMS}")
    return MCPServerSSE(**named) if transport == "sse" else MCPServerHTTP(**named)
