"""Descriptions of MCP servers and tool filters, and parsing of `mcps=[...]`: descriptions, dicts of fields, or addresses."""

import hashlib
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from pathlib import PurePath
from typing import Any, ClassVar
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator, model_validator

from crewgraph.annotations import signature_of
from crewgraph.core.loops.bridge import call
from crewgraph.deprecations import UnknownKeyword, user_stacklevel
from crewgraph.errors import DefinitionError
from crewgraph.redaction import RedactedModel, redact_text
from crewgraph.schema import PlainDict, is_mapping


class ToolFilterContext(BaseModel):
    """The context in which a filter decides."""

    agent: Any
    """The agent that receives the tools."""

    server_name: str
    """The name of the server, derived from its address or command."""

    run_context: PlainDict | None = None
    """Always None: agents have the same tools in every run."""


ToolFilter = Callable[[ToolFilterContext, dict[str, Any]], bool] | Callable[[dict[str, Any]], bool]
"""Decides whether to offer a tool, a dict with name, description and inputSchema; takes the tool, or context and tool."""


class StaticToolFilter:
    """A filter by tool names.

    Args:
        allowed_tool_names: Names to offer; all if None.
        blocked_tool_names: Names never to offer.
    """

    def __init__(
        self, allowed_tool_names: Sequence[str] | None = None, blocked_tool_names: Sequence[str] | None = None
    ) -> None:
        self.allowed_tool_names = None if allowed_tool_names is None else set(allowed_tool_names)
        self.blocked_tool_names = set(blocked_tool_names or ())

    def __call__(self, tool: PlainDict) -> bool:
        """Return whether to offer a tool."""
        name = tool.get("name")
        return name not in self.blocked_tool_names and (
            self.allowed_tool_names is None or name in self.allowed_tool_names
        )


def create_static_tool_filter(
    allowed_tool_names: list[str] | None = None, blocked_tool_names: list[str] | None = None
) -> Callable[[PlainDict], bool]:
    """Return a filter by tool names; see `StaticToolFilter`."""
    return StaticToolFilter(allowed_tool_names, blocked_tool_names)


def create_dynamic_tool_filter(
    filter_func: Callable[[ToolFilterContext, PlainDict], bool],
) -> Callable[[ToolFilterContext, PlainDict], bool]:
    """Return the function itself, a filter that depends on the agent."""
    return filter_func


def is_offered(tool_filter: ToolFilter | None, context: ToolFilterContext, tool: PlainDict) -> bool:
    """Return whether a filter offers a tool."""
    if tool_filter is None:
        return True
    function: Callable[..., bool] = tool_filter
    return bool(call(function, context, tool) if _accepts_two(function) else call(function, tool))


def _accepts_two(function: Callable[..., Any]) -> bool:
    parameters = signature_of(function).parameters.values()
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p for p in positional if p.default is p.empty]
    return len(required) == 2 or any(p.kind is p.VAR_POSITIONAL for p in parameters)


class MCPServer(RedactedModel, ABC):
    """An MCP server whose tools agents may use."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    transport: ClassVar[str]
    """The transport of the protocol."""

    tool_filter: ToolFilter | None = Field(default=None, exclude=True)
    """Decides which tools are offered; all if None."""

    cache_tools_list: bool = False
    """Whether to list the tools once per process instead of once per run."""

    connect_timeout: float = Field(default=30, gt=0)
    """Timeout in seconds for connecting and for listing the tools."""

    execution_timeout: float = Field(default=60, gt=0)
    """Timeout in seconds for each tool call."""

    _cached_tools: list[PlainDict] | None = PrivateAttr(default=None)

    @model_validator(mode="before")
    @classmethod
    def _warn_unknown(cls, values: object) -> object:
        for name in values.keys() - cls.model_fields.keys() if is_mapping(values) else ():
            message = f"`{cls.__name__}` has no keyword `{name}`; it has no effect."
            warnings.warn(message, UnknownKeyword, stacklevel=user_stacklevel())
        return values

    @property
    @abstractmethod
    def connection(self) -> PlainDict:
        """The connection parameters for langchain-mcp-adapters."""

    @property
    @abstractmethod
    def label(self) -> str:
        """The server in messages, without secrets."""

    @property
    def address(self) -> str | None:
        """The address without secrets; None if it has none."""
        return None

    @property
    @abstractmethod
    def name(self) -> str:
        """The name for filters, and the prefix of the names of its tools."""

    def redact(self, text: str) -> str:
        """Remove secrets from a text, such as a client error that shows the full address."""
        for secret in self._secrets:
            text = text.replace(secret, "...")
        return redact_text(text)

    @property
    def _secrets(self) -> list[str]:
        return []

    @property
    def key(self) -> str:
        """A digest of the connection parameters."""
        encoded = repr(sorted(self.connection.items(), key=str)).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(encoded, digest_size=16).hexdigest()

    @property
    def cached_tools(self) -> list[PlainDict] | None:
        """The tools, if they were listed and `cache_tools_list` is set."""
        return self._cached_tools

    def cache_tools(self, tools: list[PlainDict]) -> None:
        """Store the tools if `cache_tools_list` is set."""
        if self.cache_tools_list:
            self._cached_tools = tools


class MCPServerStdio(MCPServer):
    """A server that is started as a subprocess for each run and talks over stdin and stdout."""

    transport: ClassVar[str] = "stdio"

    command: str
    """The program to run."""

    args: list[str] = Field(default_factory=list[str])
    """Arguments of the program; no shell is involved."""

    env: dict[str, str] | None = None
    """Environment variables of the program; of this process it inherits only a few harmless ones, such as PATH and HOME."""

    @property
    def connection(self) -> PlainDict:
        return {"transport": "stdio", "command": self.command, "args": list(self.args), "env": self.env}

    @property
    def label(self) -> str:
        return f"MCP server `{' '.join(self._words)}`"

    @property
    def name(self) -> str:
        return "_".join(self._words)

    @property
    def _words(self) -> list[str]:
        words = [self.command, *(arg for arg in self.args if not arg.startswith("-"))][:2]
        return [PurePath(word).name for word in words]

    @property
    def _secrets(self) -> list[str]:
        return [value for value in (self.env or {}).values() if len(value) > 3]


class _URLServer(MCPServer):
    """A server with a URL."""

    url: str
    """The URL of the server."""

    headers: dict[str, str] | None = None
    """Headers of each request, for instance for authorization."""

    @field_validator("url")
    @classmethod
    def _is_address(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(
                f"the address of an MCP server must begin with https:// or http:// and name a host, unlike {value!r:.80}"
            )
        return value

    @property
    def connection(self) -> dict[str, object]:
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
        name = re.sub(r"[./]+", "_", f"{parts.netloc.rpartition('@')[2]}{parts.path}").strip("_")
        return f"mcp_{name}" if name[:1].isdigit() else name


class MCPServerHTTP(_URLServer):
    """A server with the streamable HTTP transport."""

    streamable: bool = True
    """False for a server that supports only the older SSE transport."""

    @property
    def transport(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "streamable_http" if self.streamable else "sse"


class MCPServerSSE(_URLServer):
    """A server with the older transport, HTTP with server-sent events."""

    transport: ClassVar[str] = "sse"


MCPServerConfig = MCPServerStdio | MCPServerHTTP | MCPServerSSE
"""The description of a server."""


_FORMS = (
    'Pass an address ("https://host/mcp", for one of its tools "https://host/mcp#tool"), or an `MCPServerStdio`, '
    "`MCPServerHTTP` or `MCPServerSSE`."
)


@dataclass(frozen=True)
class ServerReference:
    """A server, and optionally one of its tools."""

    server: MCPServer
    tool_name: str | None = None
    """The referenced tool; None for all that the server's filter offers."""

    by_address: bool = False
    """Whether it is an address; the agent works without a server that is not there."""


def parse_references(servers: Sequence[object]) -> list[ServerReference]:
    """Parse the values of `mcps=[...]`; equal addresses return the same server.

    Raises:
        DefinitionError: A value does not describe a server.
    """
    return [parse_reference(server) for server in servers]


def parse_reference(server: Any) -> ServerReference:
    """Parse one value of `mcps=[...]`; `mcp.StdioServerParameters` are accepted, too.

    Raises:
        DefinitionError: The value does not describe a server.
    """
    if isinstance(server, ServerReference):
        return server
    if isinstance(server, MCPServer):
        return ServerReference(server)
    if isinstance(server, str):
        return _from_address(server)
    if is_mapping(server):
        return ServerReference(_from_fields(server))
    if isinstance(command := getattr(server, "command", None), str):
        args, env = getattr(server, "args", None), getattr(server, "env", None)
        return ServerReference(MCPServerStdio(command=command, args=list(args or ()), env=env))
    raise DefinitionError(f"{server!r:.80} is not an MCP server. {_FORMS}")


@lru_cache(maxsize=256)
def _from_address(text: str) -> ServerReference:
    address, _, tool_name = text.strip().partition("#")
    parts = urlsplit(address)
    if parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(parts.hostname)):
        return ServerReference(MCPServerHTTP(url=address), tool_name or None, by_address=True)
    if parts.scheme == "http":
        raise DefinitionError(
            f"the address of the MCP server `{parts.hostname}` is not encrypted. Use https://, or "
            "`MCPServerHTTP(url=...)` if that is intended."
        )
    if parts.scheme == "crewai-amp" or not parts.scheme:
        raise DefinitionError(
            f"the MCP server {text!r:.80} refers to CrewAI's hosted platform, which crewgraph does not support. {_FORMS}"
        )
    raise DefinitionError(f"{text!r:.80} is not the address of an MCP server. {_FORMS}")


def _is_loopback(host: str | None) -> bool:
    try:
        return host == "localhost" or ip_address(host or "").is_loopback
    except ValueError:
        return False


def _from_fields(fields: Mapping[str, Any]) -> MCPServer:
    """Create a server from a dict of fields, as in files; `transport` or `type` may select the SSE transport."""
    keywords = {name: value for name, value in fields.items() if name not in ("transport", "type")}
    transport = str(fields.get("transport") or fields.get("type") or "").lower()
    if "command" in keywords:
        return MCPServerStdio(**keywords)
    if "url" not in keywords:
        raise DefinitionError(f"an MCP server needs a `command` or a `url`, and {sorted(fields)} has neither. {_FORMS}")
    return MCPServerSSE(**keywords) if transport == "sse" else MCPServerHTTP(**keywords)
