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
        with self._report_events(arguments) as done:
            done["result"] = self._read_answer(call_tool(self.server, self.original_tool_name, arguments))
        return done["result"]

    async def _arun(self, **arguments: Any) -> Any:
        """The same on an event loop."""
        with self._report_events(arguments) as done:
            done["result"] = self._read_answer(await acall_tool(self.server, self.original_tool_name, arguments))
        return done["result"]

    @contextmanager
    def _report_events(self, arguments: dict[str, Any]) -> Generator[dict[str, Any]]:
        try:
            with events.execution_events(self.server, self.original_tool_name, arguments) as done:
                yield done
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
        told = result if isinstance(result, str) else str(result[0]["text"])
        raise ToolFailed(f"`{self.name}` failed: {shorten(told, 2000) or 'the server does not say why'}")


def describe_tools(meant: ServerReference, agent: Any) -> list[dict[str, Any]]:
    """The tools that a reference offers an agent, as the server describes them; asks the server.

    Raises:
        MCPServerError: it is not there, or has not the tool that is meant.
        Exception: whatever its filter raises.
    """
    tools = _list_tools(meant.server, agent)
    if meant.tool_name is None:
        context = ToolFilterContext(agent=agent, server_name=meant.server.name)
        choose = meant.server.tool_filter
        return [tool for tool in tools if is_offered(choose, context, {"original_name": tool["name"], **tool})]
    found = [tool for tool in tools if _normalized(tool["name"]) == _normalized(meant.tool_name)]
    if not found:
        names = ", ".join(f"`{tool['name']}`" for tool in tools) or "none at all"
        raise MCPServerError(
            f"the {meant.server.label} has no tool `{meant.tool_name}`, which stands behind the # of its address. It has: "
            f"{names}."
        )
    return found


def _list_tools(server: MCPServer, agent: Any) -> list[dict[str, Any]]:
    known = cached_tools(server)
    if known is not None:
        return known
    with events.connection_events(server, agent):
        return list_tools(server)


def _normalized(name: str) -> str:
    return re.sub(r"[\W_]+", "_", name).casefold()


def build_tools(
    meant: Sequence[ServerReference], described: Sequence[Sequence[Mapping[str, Any]]], taken: Iterable[str] = ()
) -> list[MCPTool]:
    """Tools, as their servers describe them.

    Args:
        meant: where they are carried out.
        described: name, description and inputSchema of each, by server.
        taken: names of other tools; before the name of one that is among them stands the server's.
    """
    names, made = set(taken), list[MCPTool]()
    for one, tools in zip(meant, described, strict=True):
        for tool in tools:
            made.append(_build_tool(one.server, tool, names))
            names.add(made[-1].name)
    return made


def load_tools(given: Sequence[Any], agent: Any) -> list[MCPTool]:
    """The tools of servers, as users describe or address these, for an agent; asks the servers.

    Raises:
        DefinitionError: something of it leads to no server.
        MCPServerError: one is not there, or has not the tool that is meant.
    """
    meant = [parse_reference(one) for one in given]
    return build_tools(meant, [describe_tools(one, agent) for one in meant])


def _build_tool(server: MCPServer, described: Mapping[str, Any], taken: Container[str]) -> MCPTool:
    own = str(described["name"])
    return MCPTool(
        name=own if own not in taken else f"{server.name}_{own}",
        description=described.get("description") or described.get("title") or own,
        args_schema=from_json_schema(described.get("inputSchema") or {}, name=f"{own}Arguments"),
        server=server,
        original_tool_name=own,
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
        for one in mcps:
            tools += self._resolve_external(one) if isinstance(one, str) else self._resolve_native(one)[0]
        return tools

    def cleanup(self) -> None:
        """Close what is open: nothing is."""

    @overridable
    def _resolve_external(self, mcp_ref: str) -> list[BaseTool]:
        return list(load_tools([mcp_ref], self._agent))

    @overridable
    def _resolve_native(self, mcp_config: MCPServer) -> tuple[list[BaseTool], list[Any]]:
        return list(load_tools([mcp_config], self._agent)), []


def overriding_resolver(given: Any, agent: Any) -> Callable[[], list[Any]] | None:
    """What a program put in the place of looking for one thing of `mcps`; None where nothing is."""
    resolver = MCPToolResolver(agent)
    if (resolve := override_of(resolver, "resolve")) is not None:
        return lambda: list(resolve([given]))
    if isinstance(given, str):
        external = override_of(resolver, "_resolve_external")
        return None if external is None else lambda: list(external(given))
    native = override_of(resolver, "_resolve_native")
    return None if native is None else lambda: list(native(given)[0])


def resolver_identity() -> tuple[int, ...]:
    """What stands in the place of the methods, by identity: a graph that was made with it is made anew without."""
    return tuple(id(vars(MCPToolResolver)[way]) for way in _RESOLVER_METHODS)
