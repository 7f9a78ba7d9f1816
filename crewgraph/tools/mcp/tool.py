"""A tool of an MCP server, to be used like any other.

What a tool of an MCP server gave, as plain data to be recorded.

Finding the tools of what stands in `mcps=[...]`, as programs override or patch it.
"""

import json
import re
from collections.abc import Callable, Container, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pydantic import Field

from crewgraph.errors import MCPServerError, ToolFailed
from crewgraph.lazy import lazy_module
from crewgraph.overrides import overridable, override_of
from crewgraph.schema import from_json_schema
from crewgraph.text import shorten
from crewgraph.tools.base import BaseTool
from crewgraph.tools.mcp.server import MCPServer, ServerReference, ToolFilterContext, is_offered, parse_reference
from crewgraph.tools.mcp.session import acall_tool, cached_tools, call_tool, list_tools
from crewgraph.tools.results import Rendered, is_blocks, render_blocks

__all__ = [
    "MCPTool",
    "MCPToolResolver",
    "build_tools",
    "describe_tools",
    "load_tools",
    "overriding_resolver",
    "read_result",
    "resolver_identity",
]


def read_result(answer: Mapping[str, Any]) -> Any:
    """What a server answered to a call, as it is recorded: a text, or blocks where there are images.

    Args:
        answer: a `CallToolResult` as plain data.
    """
    blocks: list[dict[str, Any]] = list(answer.get("content") or ())
    structured = answer.get("structuredContent")
    if structured is not None and not any(block.get("type") in ("text", "image", "resource") for block in blocks):
        blocks = [{"type": "text", "text": json.dumps(structured, ensure_ascii=False)}, *blocks]
    text, images = render_blocks(blocks)
    return [{"type": "text", "text": text}, *images] if images else text


if TYPE_CHECKING:
    from crewgraph.tools.mcp import events
else:
    events = lazy_module("crewgraph.tools.mcp.events")


class MCPTool(BaseTool):
    """A tool of an MCP server.

    In a run it is called in the run's session with the server, elsewhere in one of its own.
    """

    server: MCPServer = Field(exclude=True, repr=False)
    """Where it is carried out."""

    original_tool_name: str
    """What the server calls it."""

    def _run(self, **arguments: Any) -> Any:
        """Have it done.

        Raises:
            ToolFailed: the server says that it failed, or does not answer.
        """
        with self._report_events(arguments) as outcome:
            outcome["result"] = self._read_answer(call_tool(self.server, self.original_tool_name, arguments))
        return outcome["result"]

    async def _arun(self, **arguments: Any) -> Any:
        """The same on an event loop."""
        with self._report_events(arguments) as outcome:
            outcome["result"] = self._read_answer(await acall_tool(self.server, self.original_tool_name, arguments))
        return outcome["result"]

    @contextmanager
    def _report_events(self, arguments: dict[str, Any]) -> Generator[dict[str, Any]]:
        try:
            with events.execution_events(self.server, self.original_tool_name, arguments) as outcome:
                yield outcome
        except MCPServerError as error:
            raise ToolFailed(f"`{self.name}` failed: {error}") from error

    @property
    def _origin(self) -> Any:
        return self.server

    def _shown(self, result: Any) -> Rendered:
        return render_blocks(result) if is_blocks(result) else super()._shown(result)

    def _read_answer(self, answer: dict[str, Any]) -> Any:
        result = read_result(answer)
        if not answer.get("isError"):
            return result
        message = result if isinstance(result, str) else str(result[0]["text"])
        raise ToolFailed(f"`{self.name}` failed: {shorten(message, 2000) or 'the server does not say why'}")


def describe_tools(reference: ServerReference, agent: Any) -> list[dict[str, Any]]:
    """The tools that a reference offers an agent, as the server describes them; asks the server.

    Raises:
        MCPServerError: it is not there, or has not the tool that is meant.
        Exception: whatever its filter raises.
    """
    tools = _list_tools(reference.server, agent)
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


def _list_tools(server: MCPServer, agent: Any) -> list[dict[str, Any]]:
    cached = cached_tools(server)
    if cached is not None:
        return cached
    with events.connection_events(server, agent):
        return list_tools(server)


def _normalized(name: str) -> str:
    return re.sub(r"[\W_]+", "_", name).casefold()


def build_tools(
    references: Sequence[ServerReference],
    descriptions: Sequence[Sequence[Mapping[str, Any]]],
    taken_names: Iterable[str] = (),
) -> list[MCPTool]:
    """Tools, as their servers describe them.

    Args:
        references: where they are carried out.
        descriptions: name, description and inputSchema of each, by server.
        taken_names: names of other tools; before the name of one that is among them stands the server's.
    """
    names, result = set(taken_names), list[MCPTool]()
    for reference, tools in zip(references, descriptions, strict=True):
        for tool in tools:
            result.append(_build_tool(reference.server, tool, names))
            names.add(result[-1].name)
    return result


def load_tools(servers: Sequence[Any], agent: Any) -> list[MCPTool]:
    """The tools of servers, as users describe or address these, for an agent; asks the servers.

    Raises:
        DefinitionError: something of it leads to no server.
        MCPServerError: one is not there, or has not the tool that is meant.
    """
    references = [parse_reference(server) for server in servers]
    return build_tools(references, [describe_tools(server, agent) for server in references])


def _build_tool(server: MCPServer, description: Mapping[str, Any], taken: Container[str]) -> MCPTool:
    name = str(description["name"])
    return MCPTool(
        name=name if name not in taken else f"{server.name}_{name}",
        description=description.get("description") or description.get("title") or name,
        args_schema=from_json_schema(description.get("inputSchema") or {}, name=f"{name}Arguments"),
        server=server,
        original_tool_name=name,
    )


_RESOLVER_METHODS = ("resolve", "_resolve_external", "_resolve_native")


class MCPToolResolver:
    """Finds the tools of servers for an agent; `agent.get_mcp_tools([...])` does it, too.

    A run asks the servers itself; what a program puts in the place of a method here, it calls.

    Args:
        agent: for whom; filters are told.
        logger: not used: sessions log as "crewgraph.tools".
    """

    def __init__(self, agent: Any, logger: Any = None) -> None:
        self._agent, self._logger = agent, logger

    @property
    def clients(self) -> list[Any]:
        """Connections that are to be closed: none, runs close theirs."""
        return []

    @overridable
    def resolve(self, mcps: Sequence[Any]) -> list[BaseTool]:
        """The tools of servers.

        Args:
            mcps: what `Agent(mcps=)` takes.

        Raises:
            DefinitionError: something of it leads to no server.
            MCPServerError: a server is not there, or has not the tool that is meant (also ConnectionError).
        """
        tools: list[BaseTool] = []
        for server in mcps:
            tools += self._resolve_external(server) if isinstance(server, str) else self._resolve_native(server)[0]
        return tools

    def cleanup(self) -> None:
        """Close what is open: nothing is."""

    @overridable
    def _resolve_external(self, mcp_ref: str) -> list[BaseTool]:
        return list(load_tools([mcp_ref], self._agent))

    @overridable
    def _resolve_native(self, mcp_config: MCPServer) -> tuple[list[BaseTool], list[Any]]:
        return list(load_tools([mcp_config], self._agent)), []


def overriding_resolver(server: Any, agent: Any) -> Callable[[], list[Any]] | None:
    """What a program put in the place of looking for one thing of `mcps`; None where nothing is."""
    resolver = MCPToolResolver(agent)
    if (resolve := override_of(resolver, "resolve")) is not None:
        return lambda: list(resolve([server]))
    if isinstance(server, str):
        external = override_of(resolver, "_resolve_external")
        return None if external is None else lambda: list(external(server))
    native = override_of(resolver, "_resolve_native")
    return None if native is None else lambda: list(native(server)[0])


def resolver_identity() -> tuple[int, ...]:
    """What stands in the place of the methods, by identity: a graph that was made with it is made anew without."""
    return tuple(id(vars(MCPToolResolver)[method]) for method in _RESOLVER_METHODS)
