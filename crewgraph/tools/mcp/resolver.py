"""Finding the tools of what stands in `mcps=[...]`, as programs override or patch it."""

from collections.abc import Callable, Sequence
from typing import Any

from crewgraph.overrides import overridable, override_of
from crewgraph.tools.base import BaseTool
from crewgraph.tools.mcp.server import MCPServer
from crewgraph.tools.mcp.tool import tools_of

__all__ = ["MCPToolResolver", "own_resolver", "own_ways"]

_WAYS = ("resolve", "_resolve_external", "_resolve_native")


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
        return list(tools_of([mcp_ref], self._agent))

    @overridable
    def _resolve_native(self, mcp_config: MCPServer) -> tuple[list[BaseTool], list[Any]]:
        return list(tools_of([mcp_config], self._agent)), []


def own_resolver(given: Any, agent: Any) -> Callable[[], list[Any]] | None:
    """What a program put in the place of looking for one thing of `mcps`; None where nothing is."""
    resolver = MCPToolResolver(agent)
    if (resolve := override_of(resolver, "resolve")) is not None:
        return lambda: list(resolve([given]))
    if isinstance(given, str):
        external = override_of(resolver, "_resolve_external")
        return None if external is None else lambda: list(external(given))
    native = override_of(resolver, "_resolve_native")
    return None if native is None else lambda: list(native(given)[0])


def own_ways() -> tuple[int, ...]:
    """What stands in the place of the methods, by identity: a graph that was made with it is made anew without."""
    return tuple(id(vars(MCPToolResolver)[way]) for way in _WAYS)
