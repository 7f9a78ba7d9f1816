"""Capabilities of agents: what MCP servers, remote agents and skills add to an agent's tools, prompt and work."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from crewgraph.compiler.agent.event_tool import EventTool
from crewgraph.core.effects import Body, Call, Together
from crewgraph.definitions.agent.agent import BaseAgent
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.task.task import Task
from crewgraph.errors import CompileError, DefinitionError
from crewgraph.extensions import extension
from crewgraph.overrides import override_of
from crewgraph.prompts.book import Book
from crewgraph.tools.mcp.server import ServerReference, parse_references
from crewgraph.tools.mcp.tool import build_tools, describe_tools, overriding_resolver

__all__ = ["Capability", "MCPServers", "capabilities_key", "capabilities_of", "fetches_tools"]


class Capability(Protocol):
    """What a field of an agent, or of its crew, adds to the agent; an implementation overrides what it has to say.

    Args:
        agent: who has it.
        crew: for whom the agent works; None on its own.
        task: on what; None where it answers messages, and before a run.
    """

    agent: BaseAgent
    crew: Crew | None
    task: Task | None
    fetches_tools: bool = False
    """Whether `fetched` may give tools."""

    def __init__(self, agent: BaseAgent, crew: Crew | None, task: Task | None) -> None:
        self.agent, self.crew, self.task = agent, crew, task

    def check(self) -> None:
        """Refuse what the agent cannot have.

        Raises:
            CompileError: with the reason, and with what there is instead.
        """

    def look_ahead(self) -> None:
        """Look, before a run does anything, whether what is needed from outside is there. Blocks."""

    def tools(self, given: Sequence[Any]) -> list[Any]:
        """Tools that are known when a graph is compiled.

        Args:
            given: the agent's other tools.
        """
        return []

    def fetched(self, taken: Iterable[str], book: Book) -> Body[list[Any]]:
        """Tools that are fetched when work begins; what they are made of is recorded, so that a resumed run has the same.

        Args:
            taken: the names of the agent's other tools.
            book: the wording.
        """
        yield from ()
        return []

    def adapted(self, tool: EventTool, book: Book) -> EventTool:
        """A tool of the agent's as its loop uses it."""
        return tool

    def notes(self, tools: Mapping[str, EventTool], book: Book) -> Sequence[str]:
        """What the agent's prompt says of it, besides its tools' descriptions.

        Args:
            tools: the agent's tools, by name.
            book: the wording.
        """
        return ()

    def begin(self) -> Body[None]:
        """What happens when the agent begins to work on an answer."""
        yield from ()


class MCPServers(Capability):
    """The tools of an agent's MCP servers."""

    fetches_tools = True

    @property
    def _references(self) -> list[ServerReference]:
        """The servers; none where the program fetches the tools in a way of its own.

        Raises:
            DefinitionError: something in `mcps` leads to no server.
        """
        if override_of(self.agent, "get_mcp_tools") is not None:
            return []
        return parse_references(
            [item for item in self.agent.mcps or () if overriding_resolver(item, self.agent) is None]
        )

    def check(self) -> None:
        try:
            _ = self._references
        except DefinitionError as error:
            raise CompileError(f"`mcps` of agent `{self.agent.role}`: {error}") from error

    def look_ahead(self) -> None:
        for reference in self._references:
            describe_tools(reference, self.agent)

    def fetched(self, taken: Iterable[str], book: Book) -> Body[list[Any]]:
        servers = self._references
        if not servers:
            return []
        listed: list[list[dict[str, Any]]] = yield Together([self._listing(server) for server in servers])
        return [*build_tools(servers, listed, taken)]

    def _listing(self, reference: ServerReference) -> Call:
        return Call(
            function=describe_tools,
            args=(reference, self.agent),
            name=reference.server.name,
            kind="the list of tools of",
            about=[reference.server.key, reference.tool_name],
        )


_EXTENSIONS: Final = ("a2a", "skills")
"""Fields of agents, or of crews, that an extension of the same name implements as a `Capability`."""


def capabilities_of(agent: BaseAgent, crew: Crew | None = None, task: Task | None = None) -> tuple[Capability, ...]:
    """The capabilities of an agent, those of its crew among them."""
    used = [extension(name) for name in _EXTENSIONS if getattr(agent, name, None) or getattr(crew, name, None)]
    kinds: list[type[Capability]] = [MCPServers, *used] if agent.mcps else used
    return tuple(kind(agent, crew, task) for kind in kinds)


def fetches_tools(agent: BaseAgent) -> bool:
    """Whether an agent gets tools when its work begins."""
    return any(capability.fetches_tools for capability in capabilities_of(agent))


def capabilities_key(agent: BaseAgent | None, crew: Crew) -> tuple[Any, ...]:
    """What tells an agent's capabilities apart from those it has once its definition, or its crew's, was changed."""
    if agent is None:
        return ()
    return (bool(agent.a2a), *map(id, [*(agent.skills or ()), *(crew.skills or ())]))
