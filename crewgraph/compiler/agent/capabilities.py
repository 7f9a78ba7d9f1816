"""Capabilities of agents: what MCP servers, remote agents and skills add to an agent's tools, prompt and work."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from crewgraph.core.effects import Body, Call, Together
from crewgraph.definitions.agent.agent import BaseAgentDefinition
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.task.task import TaskDefinition
from crewgraph.errors import CompileError, DefinitionError
from crewgraph.overrides import override_of
from crewgraph.prompts.i18n import Book

if TYPE_CHECKING:
    from crewgraph.compiler.agent.event_tool import EventTool
    from crewgraph.tools.mcp.server import ServerReference


class Capability(Protocol):
    """What a field of an agent, or of its crew, adds to the agent's tools, prompt and work.

    Args:
        agent: the agent.
        crew: the crew; None where the agent works on its own.
        task: the task; None for a kickoff with messages, and before a run.
    """

    agent: BaseAgentDefinition
    crew: CrewDefinition | None
    task: TaskDefinition | None
    fetches_tools: bool = False
    """Whether `fetch_tools` may return tools."""

    def __init__(self, agent: BaseAgentDefinition, crew: CrewDefinition | None, task: TaskDefinition | None) -> None:
        self.agent, self.crew, self.task = agent, crew, task

    def check(self) -> None:
        """Reject unsupported settings.

        Raises:
            CompileError: a setting is not supported; says why, and what to use instead.
        """

    def check_available(self) -> None:
        """Check before a run that external resources are available. Blocks."""

    def tools(self, other_tools: Sequence[Any]) -> list[Any]:
        """Return the tools that are known when a graph is compiled.

        Args:
            other_tools: the agent's other tools.
        """
        return []

    def fetch_tools(self, taken: Iterable[str], book: Book) -> Body[list[object]]:
        """Return the tools that are fetched when work starts; their specs are recorded for resumed runs.

        Args:
            taken: the names of the agent's other tools.
            book: the prompts.
        """
        yield from ()
        return []

    def adapt_tool(self, tool: "EventTool", book: Book) -> "EventTool":
        """Adapt one of the agent's tools for its loop."""
        return tool

    def notes(self, tools: "Mapping[str, EventTool]", book: Book) -> Sequence[str]:
        """Return notes for the agent's prompt, in addition to the tools' descriptions.

        Args:
            tools: the agent's tools, by name.
            book: the prompts.
        """
        return ()

    def begin(self) -> Body[None]:
        """Called when the agent starts to work on an answer."""
        yield from ()


class MCPServers(Capability):
    """The tools of an agent's MCP servers."""

    fetches_tools = True

    @property
    def _references(self) -> "list[ServerReference]":
        """The servers; none where the program fetches the tools itself.

        Raises:
            DefinitionError: an entry of `mcps` does not lead to a server.
        """
        if override_of(self.agent, "get_mcp_tools") is not None:
            return []
        from crewgraph.tools.mcp.server import parse_references
        from crewgraph.tools.mcp.tool import overriding_resolver

        return parse_references(
            [item for item in self.agent.mcps or () if overriding_resolver(item, self.agent) is None]
        )

    def check(self) -> None:
        try:
            _ = self._references
        except DefinitionError as error:
            raise CompileError(f"`mcps` of {self.agent.called}: {error}") from error

    def check_available(self) -> None:
        from crewgraph.tools.mcp.tool import describe_tools

        for reference in self._references:
            describe_tools(reference, self.agent)

    def fetch_tools(self, taken: Iterable[str], book: Book) -> Body[list[object]]:
        servers = self._references
        if not servers:
            return []
        listed: list[list[dict[str, object]]] = yield Together([self._listing(server) for server in servers])
        from crewgraph.tools.mcp.tool import build_tools

        return [*build_tools(servers, listed)]

    def _listing(self, reference: "ServerReference") -> Call:
        from crewgraph.tools.mcp.tool import describe_tools

        return Call(
            function=describe_tools,
            args=(reference, self.agent),
            name=reference.server.name,
            kind="the list of tools of",
            about=[reference.server.key, reference.tool_name],
        )
