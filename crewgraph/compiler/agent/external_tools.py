"""External resources of agents: the tools of their capabilities, and the images that code runs in."""

from collections.abc import Iterable, Sequence
from typing import Any

from crewgraph.compiler.agent.binding import AgentBinding, capability_tools
from crewgraph.compiler.agent.capabilities import Capability, capabilities_of
from crewgraph.core.effects import Body, Call
from crewgraph.core.operations import Program, blocking
from crewgraph.core.resources import RESOURCES, RunResources
from crewgraph.prompts.book import Book
from crewgraph.scoped import scoped

__all__ = ["check_external_resources", "load_external_tools"]


def load_external_tools(
    capabilities: Sequence[Capability], tools: Iterable[Any], reserved: Iterable[str], book: Book
) -> Body[list[object]]:
    """Fetch the tools of an agent's capabilities; they are recorded, so that a resumed run has the same.

    Args:
        capabilities: the agent's capabilities.
        tools: its other tools, as objects.
        reserved: the names of these.
        book: the prompts.

    Raises:
        MCPServerError: a server cannot be reached, or lacks a tool that was named.
        RemoteAgentError: a remote agent cannot be reached.
        ToolFailed: code cannot be run here.
    """
    yield from _check_images(tools)
    names, fetched = [*reserved], list[Any]()
    for capability in capabilities:
        fetched += yield from capability.fetch_tools([*names, *(tool.name for tool in fetched)], book)
    return fetched


def _check_images(tools: Iterable[Any]) -> Body[None]:
    from crewgraph.tools.code import CodeInterpreterTool

    for tool in tools:
        if isinstance(tool, CodeInterpreterTool):
            yield Call(function=tool.check, name=tool.image, kind="a look for the image", about=tool.image)


def check_external_resources(bindings: Sequence[AgentBinding], opened: RunResources) -> Program[None]:
    """Check external resources before a run does anything; connections it opens stay open for the run.

    Args:
        bindings: the agents and their tools; the coworkers they may delegate to are checked, too.
        opened: holds the connections that are opened.

    Raises:
        CompileError: a coworker's code is to run on this machine.
        MCPServerError: a server cannot be reached, or lacks a tool that was named.
        RemoteAgentError: a remote agent cannot be reached.
        ToolFailed: code cannot be run here.
    """
    sources = [tool.tool.source for binding in bindings for tool in binding.tools.values()]
    from crewgraph.definitions.agent.delegation_tools import CoworkerTool

    coworkers = [agent for source in sources if isinstance(source, CoworkerTool) for agent in source.agents]
    agents = {id(agent): agent for agent in (*(binding.agent for binding in bindings), *coworkers)}
    for agent in coworkers:
        sources += capability_tools(agent, agent.tools or (), None)
    from crewgraph.tools.code import CodeInterpreterTool

    images = {source.image: source for source in sources if isinstance(source, CodeInterpreterTool)}
    capabilities = [capability for agent in agents.values() for capability in capabilities_of(agent)]

    def check() -> None:
        for tool in images.values():
            tool.check()
        with scoped(RESOURCES, opened):
            for capability in capabilities:
                capability.check_available()

    if images or any(capability.fetches_tools for capability in capabilities):
        yield blocking(check)
