"""Tools of MCP servers: `MCPTool`, loading tools for `mcps=[...]`, and CrewAI's `MCPToolResolver`, which programs override."""

import json
import re
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from pydantic import Field

from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import MCPServerError, RunError, ToolFailed
from crewgraph.overrides import overridable, override_of
from crewgraph.schema import PlainDict, PlainMapping, from_json_schema
from crewgraph.text import model_name, shorten
from crewgraph.tools.base import BaseTool
from crewgraph.tools.mcp.server import MCPServer, ServerReference, ToolFilterContext, is_offered, parse_reference
from crewgraph.tools.mcp.session import acall_tool, cached_tools, call_tool, list_tools
from crewgraph.tools.results import Rendered, is_blocks, render_blocks


def read_result(answer: PlainMapping) -> Any:
    """Reduce the result of a tool call to a text, or to content blocks if it has images.

    Args:
        answer: A `CallToolResult` as plain data.
    """
    blocks: list[PlainDict] = list(answer.get("content") or ())
    structured = answer.get("structuredContent")
    if structured is not None and not any(block.get("type") in ("text", "image", "resource") for block in blocks):
        blocks = [{"type": "text", "text": json.dumps(structured, ensure_ascii=False)}, *blocks]
    text, images = render_blocks(blocks)
    return [{"type": "text", "text": text}, *images] if images else text


class MCPTool(BaseTool):
    """A tool of an MCP server, called in the session of the run, or in a temporary one outside of runs."""

    server: MCPServer = Field(exclude=True, repr=False)
    """The server of the tool."""

    original_tool_name: str
    """The name of the tool at the server."""

    metadata: PlainDict = Field(default_factory=dict[str, Any])
    """What the server says of its effects, such as `readOnlyHint`: MCP's annotations."""

    def _run(self, **arguments: Any) -> Any:
        """Call the tool at the server.

        Raises:
            ToolFailed: The server reports an error or does not answer.
        """
        with self._report_events(arguments) as outcome:
            outcome["result"] = self._read_answer(call_tool(self.server, self.original_tool_name, arguments))
        return outcome["result"]

    async def _arun(self, **arguments: Any) -> Any:
        """Async version of `_run`."""
        with self._report_events(arguments) as outcome:
            outcome["result"] = self._read_answer(await acall_tool(self.server, self.original_tool_name, arguments))
        return outcome["result"]

    @contextmanager
    def _report_events(self, arguments: PlainDict) -> Generator[PlainDict]:
        from crewgraph.events.mcp import (
            MCPToolExecutionCompletedEvent,
            MCPToolExecutionFailedEvent,
            MCPToolExecutionStartedEvent,
        )

        fields = {"tool_name": self.original_tool_name, "tool_args": arguments}
        kinds = MCPToolExecutionStartedEvent, MCPToolExecutionCompletedEvent, MCPToolExecutionFailedEvent
        try:
            with _events(self.server, kinds, fields, "execution_duration_ms") as outcome:
                yield outcome
        except MCPServerError as error:
            raise ToolFailed(f"`{self.original_tool_name}` failed: {error}") from error

    @property
    def _origin(self) -> Any:
        return self.server

    def _render(self, result: Any) -> Rendered:
        return render_blocks(result) if is_blocks(result) else super()._render(result)

    def _read_answer(self, answer: PlainDict) -> Any:
        result = read_result(answer)
        if not answer.get("isError"):
            return result
        message = result if isinstance(result, str) else str(result[0]["text"])
        reason = shorten(message, 2000) or "the server does not say why"
        raise ToolFailed(f"`{self.original_tool_name}` failed: {reason}")


def describe_tools(reference: ServerReference, agent: Any) -> list[PlainDict]:
    """List the tools that a server reference offers to an agent; none if an address leads to nothing, with a warning.

    Raises:
        MCPServerError: The server is unreachable, or lacks the referenced tool.
        Exception: Whatever the tool filter raises.
    """
    try:
        tools = _list_tools(reference.server, agent)
    except MCPServerError as error:
        if not reference.by_address:
            raise
        text = (
            f"an agent works without the tools of an MCP server: {error} With `MCPServerHTTP(url=...)` it is an error."
        )
        warnings.warn(text, stacklevel=user_stacklevel())
        return []
    if reference.tool_name is None:
        context = ToolFilterContext(agent=agent, server_name=reference.server.name)
        tool_filter = reference.server.tool_filter
        return [tool for tool in tools if is_offered(tool_filter, context, {"original_name": tool["name"], **tool})]
    matches = [tool for tool in tools if _normalized(tool["name"]) == _normalized(reference.tool_name)]
    if not matches:
        names = ", ".join(f"`{tool['name']}`" for tool in tools) or "none at all"
        raise MCPServerError(
            f"the {reference.server.label} has no tool `{reference.tool_name}`, which its address names after the `#`. "
            f"It has: {names}."
        )
    return matches


def _list_tools(server: MCPServer, agent: Any) -> list[PlainDict]:
    cached = cached_tools(server)
    if cached is not None:
        return cached
    from crewgraph.events.mcp import (
        MCPConnectionCompletedEvent,
        MCPConnectionFailedEvent,
        MCPConnectionStartedEvent,
    )

    kinds = MCPConnectionStartedEvent, MCPConnectionCompletedEvent, MCPConnectionFailedEvent
    started = {"connect_timeout": server.connect_timeout}
    with _events(server, kinds, {"from_agent": agent}, "connection_duration_ms", started):
        return list_tools(server)


@contextmanager
def _events(
    server: MCPServer,
    kinds: tuple[type[Any], type[Any], type[Any]],
    fields: PlainDict,
    duration: str,
    at_start: PlainMapping | None = None,
) -> Generator[PlainDict]:
    """Emit an event at the start, and the one of success or failure at the end; the block puts its `result` into the dict."""
    from crewgraph.events.bus import crewai_event_bus

    def emit(kind: type[Any], **more: Any) -> None:
        if crewai_event_bus.wants(kind):
            origin = {"server_name": server.name, "server_url": server.address, "transport_type": server.transport}
            crewai_event_bus.emit(server, kind(**origin, **fields, **more))

    emit(kinds[0], **(at_start or {}))
    started, outcome = datetime.now(UTC), dict[str, Any]()
    try:
        yield outcome
    except RunError as error:
        reason = {"error": str(error), "error_type": type(error).__name__}
        emit(kinds[2], **reason, started_at=started, failed_at=datetime.now(UTC))
        raise
    ended = datetime.now(UTC)
    took = {duration: (ended - started).total_seconds() * 1000}
    emit(kinds[1], **outcome, started_at=started, completed_at=ended, **took)


def _normalized(name: str) -> str:
    return re.sub(r"[\W_]+", "_", name).casefold()


def build_tools(
    references: Sequence[ServerReference],
    descriptions: Sequence[Sequence[PlainMapping]],
    *,
    prefixed: bool = True,
) -> list[MCPTool]:
    """Create tools from the descriptions of their servers.

    Args:
        references: The servers.
        descriptions: Name, description and inputSchema of each tool, by server.
        prefixed: Whether the name of its server precedes a tool's; else only where it is that of a tool before.
    """
    names, result = set[str](), list[MCPTool]()
    for reference, tools in zip(references, descriptions, strict=True):
        for tool in tools:
            result.append(_build_tool(reference.server, tool, prefixed=prefixed or tool["name"] in names))
            names.add(tool["name"])
    return result


def load_tools(servers: Sequence[Any], agent: Any, *, prefixed: bool = True) -> list[MCPTool]:
    """Load the tools of servers for an agent.

    Args:
        servers: What `Agent(mcps=)` accepts.
        agent: The agent, for tool filters.
        prefixed: Whether the name of its server precedes a tool's.

    Raises:
        DefinitionError: A value does not describe a server.
        MCPServerError: A server is unreachable, or lacks a referenced tool.
    """
    references = [parse_reference(server) for server in servers]
    return build_tools(references, [describe_tools(server, agent) for server in references], prefixed=prefixed)


def _build_tool(server: MCPServer, description: PlainMapping, *, prefixed: bool) -> MCPTool:
    name = str(description["name"])
    return MCPTool(
        name=f"{server.name}_{model_name(name)}" if prefixed else name,
        description=description.get("description") or description.get("title") or name,
        args_schema=from_json_schema(description.get("inputSchema") or {}, name=f"{name}Arguments"),
        server=server,
        original_tool_name=name,
        metadata=description.get("annotations") or {},
    )


_RESOLVER_METHODS = ("resolve", "_resolve_external", "_resolve_native")


class MCPToolResolver:
    """Loads the tools of servers for an agent, like `agent.get_mcp_tools([...])`.

    Runs list the tools themselves, but call methods of this class that a program overrides.

    Args:
        agent: The agent, for tool filters.
        logger: Has no effect: sessions log as "crewgraph.tools".
    """

    def __init__(self, agent: Any, logger: Any = None) -> None:
        self._agent, self._logger = agent, logger

    @property
    def clients(self) -> list[Any]:
        """Connections to close: always empty, because runs close their own."""
        return []

    @overridable
    def resolve(self, mcps: Sequence[Any]) -> list[BaseTool]:
        """Load the tools of servers.

        Args:
            mcps: What `Agent(mcps=)` accepts.

        Raises:
            DefinitionError: A value does not describe a server.
            MCPServerError: A server is unreachable, or lacks a referenced tool (also ConnectionError).
        """
        tools: list[BaseTool] = []
        for server in mcps:
            tools += self._resolve_external(server) if isinstance(server, str) else self._resolve_native(server)[0]
        return tools

    def cleanup(self) -> None:
        """Do nothing: no connection stays open."""

    @overridable
    def _resolve_external(self, mcp_ref: str) -> list[BaseTool]:
        return list(load_tools([mcp_ref], self._agent))

    @overridable
    def _resolve_native(self, mcp_config: MCPServer) -> tuple[list[BaseTool], list[Any]]:
        return list(load_tools([mcp_config], self._agent)), []


def overriding_resolver(server: Any, agent: Any) -> Callable[[], list[Any]] | None:
    """Return a function that resolves one value of `mcps` with an overridden resolver method, if there is one."""
    resolver = MCPToolResolver(agent)
    if (resolve := override_of(resolver, "resolve")) is not None:
        return lambda: list(resolve([server]))
    if isinstance(server, str):
        external = override_of(resolver, "_resolve_external")
        return None if external is None else lambda: list(external(server))
    native = override_of(resolver, "_resolve_native")
    return None if native is None else lambda: list(native(server)[0])


def resolver_identity() -> tuple[int, ...]:
    """Return the identities of the resolver methods: a compiled graph is rebuilt when one is patched or restored."""
    return tuple(id(vars(MCPToolResolver)[method]) for method in _RESOLVER_METHODS)
