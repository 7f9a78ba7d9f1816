"""MCP servers as users describe them.

Which tools of an MCP server are offered to an agent.

What may stand in `mcps=[...]`: descriptions of servers, their fields as a dict, or addresses.
"""

import hashlib
import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from pathlib import PurePath
from typing import Any, ClassVar, cast
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator

from crewgraph.errors import DefinitionError

__all__ = [
    "MCPServer",
    "MCPServerConfig",
    "MCPServerHTTP",
    "MCPServerSSE",
    "MCPServerStdio",
    "ServerReference",
    "StaticToolFilter",
    "ToolFilter",
    "ToolFilterContext",
    "create_dynamic_tool_filter",
    "create_static_tool_filter",
    "is_offered",
    "parse_reference",
    "parse_references",
]


class ToolFilterContext(BaseModel):
    """For whom a filter decides."""

    agent: Any
    """The agent that is to have the tools."""

    server_name: str
    """The server, by a name made of its address or its command."""

    run_context: dict[str, Any] | None = None
    """Always None: agents get the same tools in every run."""


ToolFilter = Callable[[ToolFilterContext, dict[str, Any]], bool] | Callable[[dict[str, Any]], bool]
"""Says whether a tool is offered: a function of the tool (a dict with name, description, inputSchema), or of context and tool."""


class StaticToolFilter:
    """A filter by names.

    Args:
        allowed_tool_names: only these are offered; all where None.
        blocked_tool_names: these are not.
    """

    def __init__(
        self, allowed_tool_names: Sequence[str] | None = None, blocked_tool_names: Sequence[str] | None = None
    ) -> None:
        self.allowed_tool_names = None if allowed_tool_names is None else set(allowed_tool_names)
        self.blocked_tool_names = set(blocked_tool_names or ())

    def __call__(self, tool: dict[str, Any]) -> bool:
        """Whether the tool is offered."""
        name = tool.get("name")
        return name not in self.blocked_tool_names and (
            self.allowed_tool_names is None or name in self.allowed_tool_names
        )


def create_static_tool_filter(
    allowed_tool_names: list[str] | None = None, blocked_tool_names: list[str] | None = None
) -> Callable[[dict[str, Any]], bool]:
    """A filter by names; see `StaticToolFilter`."""
    return StaticToolFilter(allowed_tool_names, blocked_tool_names)


def create_dynamic_tool_filter(
    filter_func: Callable[[ToolFilterContext, dict[str, Any]], bool],
) -> Callable[[ToolFilterContext, dict[str, Any]], bool]:
    """The function itself, a filter that looks at the agent, too."""
    return filter_func


def is_offered(tool_filter: ToolFilter | None, context: ToolFilterContext, tool: dict[str, Any]) -> bool:
    """Whether a filter lets a tool pass."""
    if tool_filter is None:
        return True
    function = cast(Callable[..., bool], tool_filter)
    return bool(function(context, tool) if _takes_two(function) else function(tool))


def _takes_two(function: Callable[..., Any]) -> bool:
    parameters = inspect.signature(function).parameters.values()
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p for p in positional if p.default is p.empty]
    return len(required) == 2 or any(p.kind is p.VAR_POSITIONAL for p in parameters)


class MCPServer(BaseModel, ABC):
    """A server whose tools an agent may use."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    transport: ClassVar[str]
    """How it is spoken to."""

    tool_filter: ToolFilter | None = Field(default=None, exclude=True)
    """Says which of its tools are offered; all of them where None."""

    cache_tools_list: bool = False
    """Whether it is asked for its tools once in this process, and not in each run."""

    connect_timeout: float = Field(default=30, gt=0)
    """How many seconds it has to answer when it is connected to, and asked for its tools."""

    execution_timeout: float = Field(default=60, gt=0)
    """How many seconds it has for each call of a tool."""

    _cached_tools: list[dict[str, Any]] | None = PrivateAttr(default=None)

    @property
    @abstractmethod
    def connection(self) -> dict[str, Any]:
        """How it is reached, as langchain-mcp-adapters wants it."""

    @property
    @abstractmethod
    def label(self) -> str:
        """What it is called in messages, without what may be secret."""

    @property
    def address(self) -> str | None:
        """Its address, without what may be secret; None where it has none."""
        return None

    @property
    @abstractmethod
    def name(self) -> str:
        """What a filter is told of it, and what stands before the name of a tool where another has the same."""

    def redact(self, text: str) -> str:
        """A text without what may be secret in how it is reached: an error of a client shows whole addresses."""
        for secret in self._secrets:
            text = text.replace(secret, "...")
        return text

    @property
    def _secrets(self) -> list[str]:
        return []

    @property
    def key(self) -> str:
        """A digest of how it is reached."""
        encoded = repr(sorted(self.connection.items(), key=str)).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(encoded, digest_size=16).hexdigest()

    @property
    def cached_tools(self) -> list[dict[str, Any]] | None:
        """Its tools, where it was asked for them and `cache_tools_list` is set."""
        return self._cached_tools

    def cache_tools(self, tools: list[dict[str, Any]]) -> None:
        """Note its tools, where `cache_tools_list` is set."""
        if self.cache_tools_list:
            self._cached_tools = tools


class MCPServerStdio(MCPServer):
    """A server that is a program on this machine: started for a run, spoken to by its input and output, ended with the run."""

    transport: ClassVar[str] = "stdio"

    command: str
    """The program."""

    args: list[str] = Field(default_factory=list[str])
    """Its arguments, each as the program is to get it; no shell reads them."""

    env: dict[str, str] | None = None
    """Environment variables for it. Of those of this process it gets only a few harmless ones, such as PATH and HOME."""

    @property
    def connection(self) -> dict[str, Any]:
        return {"transport": "stdio", "command": self.command, "args": list(self.args), "env": self.env}

    @property
    def label(self) -> str:
        words = [self.command, *(arg for arg in self.args if not arg.startswith("-"))][:2]
        return f"MCP server `{' '.join(PurePath(word).name for word in words)}`"

    @property
    def name(self) -> str:
        words = [self.command, *(arg for arg in self.args if not arg.startswith("-"))][:2]
        return "_".join(PurePath(word).name for word in words)

    @property
    def _secrets(self) -> list[str]:
        return [value for value in (self.env or {}).values() if len(value) > 3]


class _URLServer(MCPServer):
    """A server with an address."""

    url: str
    """Its address."""

    headers: dict[str, str] | None = None
    """Headers of each request, for authorization."""

    @field_validator("url")
    @classmethod
    def _is_address(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(
                f"the address of an MCP server begins with https:// or http:// and names a host, unlike {value!r:.80}"
            )
        return value

    @property
    def connection(self) -> dict[str, Any]:
        return {
            "transport": self.transport,
            "url": self.url,
            "headers": self.headers,
            "timeout": self.connect_timeout,
            "sse_read_timeout": max(300.0, self.execution_timeout),
        }

    @property
    def address(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    @property
    def _secrets(self) -> list[str]:
        parts = urlsplit(self.url)
        userinfo = parts.netloc.rpartition("@")[0]
        return [secret for secret in (parts.query, userinfo, *(self.headers or {}).values()) if secret]

    @property
    def label(self) -> str:
        return f"MCP server `{self.address}`"

    @property
    def name(self) -> str:
        parts = urlsplit(self.url)
        return re.sub(r"[./]+", "_", f"{parts.netloc.rpartition('@')[2]}{parts.path}").strip("_")


class MCPServerHTTP(_URLServer):
    """A server that is reached by streamable HTTP."""

    streamable: bool = True
    """False for a server that only knows the older way, by HTTP and server-sent events."""

    @property
    def transport(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "streamable_http" if self.streamable else "sse"


class MCPServerSSE(_URLServer):
    """A server that is reached by HTTP and server-sent events, the older way."""

    transport: ClassVar[str] = "sse"


MCPServerConfig = MCPServerStdio | MCPServerHTTP | MCPServerSSE
"""A description of a server."""


_FORMS = (
    'Give an address ("https://host/mcp", for one of its tools "https://host/mcp#tool"), or an `MCPServerStdio`, '
    "`MCPServerHTTP` or `MCPServerSSE`."
)


@dataclass(frozen=True)
class ServerReference:
    """A server, and which of its tools is meant."""

    server: MCPServer
    tool_name: str | None = None
    """The one tool that is meant; None for all that the server's filter lets pass."""


def parse_references(servers: Sequence[Any]) -> list[ServerReference]:
    """What users gave, read; the same text gives the same server.

    Raises:
        DefinitionError: something of it leads to no server.
    """
    return [parse_reference(server) for server in servers]


def parse_reference(server: Any) -> ServerReference:
    """One thing that a user gave; also what the package `mcp` calls `StdioServerParameters`.

    Raises:
        DefinitionError: it leads to no server.
    """
    if isinstance(server, ServerReference):
        return server
    if isinstance(server, MCPServer):
        return ServerReference(server)
    if isinstance(server, str):
        return _from_address(server)
    if isinstance(server, Mapping):
        return ServerReference(_from_fields(cast(Mapping[str, Any], server)))
    if isinstance(command := getattr(server, "command", None), str):
        args, env = getattr(server, "args", None), getattr(server, "env", None)
        return ServerReference(MCPServerStdio(command=command, args=list(args or ()), env=env))
    raise DefinitionError(f"{server!r:.80} is no MCP server. {_FORMS}")


@lru_cache(maxsize=256)
def _from_address(text: str) -> ServerReference:
    address, _, tool_name = text.strip().partition("#")
    parts = urlsplit(address)
    if parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(parts.hostname)):
        return ServerReference(MCPServerHTTP(url=address), tool_name or None)
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


def _is_loopback(host: str | None) -> bool:
    try:
        return host == "localhost" or ip_address(host or "").is_loopback
    except ValueError:
        return False


def _from_fields(fields: Mapping[str, Any]) -> MCPServer:
    """A server from its fields, as files hold them; `transport` or `type` may say which of those with an address it is."""
    keywords = {name: value for name, value in fields.items() if name not in ("transport", "type")}
    transport = str(fields.get("transport") or fields.get("type") or "").lower()
    if "command" in keywords:
        return MCPServerStdio(**keywords)
    if "url" not in keywords:
        raise DefinitionError(f"an MCP server has a `command` or a `url`, and {sorted(fields)} has neither. {_FORMS}")
    return MCPServerSSE(**keywords) if transport == "sse" else MCPServerHTTP(**keywords)
