"""MCP servers as users describe them."""

import hashlib
import re
from abc import ABC, abstractmethod
from pathlib import PurePath
from typing import Any, ClassVar
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator

from crewgraph.tools.mcp.filter import ToolFilter

__all__ = ["MCPServer", "MCPServerConfig", "MCPServerHTTP", "MCPServerSSE", "MCPServerStdio"]


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

    _listed: list[dict[str, Any]] | None = PrivateAttr(default=None)

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

    def veiled(self, text: str) -> str:
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
        told = repr(sorted(self.connection.items(), key=str)).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(told, digest_size=16).hexdigest()

    @property
    def listed(self) -> list[dict[str, Any]] | None:
        """Its tools, where it was asked for them and `cache_tools_list` is set."""
        return self._listed

    def keep_listed(self, tools: list[dict[str, Any]]) -> None:
        """Note its tools, where `cache_tools_list` is set."""
        if self.cache_tools_list:
            self._listed = tools


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
        shown = [self.command, *(arg for arg in self.args if not arg.startswith("-"))][:2]
        return f"MCP server `{' '.join(PurePath(one).name for one in shown)}`"

    @property
    def name(self) -> str:
        shown = [self.command, *(arg for arg in self.args if not arg.startswith("-"))][:2]
        return "_".join(PurePath(one).name for one in shown)

    @property
    def _secrets(self) -> list[str]:
        return [one for one in (self.env or {}).values() if len(one) > 3]


class _Addressed(MCPServer):
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
        return [one for one in (parts.query, userinfo, *(self.headers or {}).values()) if one]

    @property
    def label(self) -> str:
        return f"MCP server `{self.address}`"

    @property
    def name(self) -> str:
        parts = urlsplit(self.url)
        return re.sub(r"[./]+", "_", f"{parts.netloc.rpartition('@')[2]}{parts.path}").strip("_")


class MCPServerHTTP(_Addressed):
    """A server that is reached by streamable HTTP."""

    streamable: bool = True
    """False for a server that only knows the older way, by HTTP and server-sent events."""

    @property
    def transport(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "streamable_http" if self.streamable else "sse"


class MCPServerSSE(_Addressed):
    """A server that is reached by HTTP and server-sent events, the older way."""

    transport: ClassVar[str] = "sse"


MCPServerConfig = MCPServerStdio | MCPServerHTTP | MCPServerSSE
"""A description of a server."""
