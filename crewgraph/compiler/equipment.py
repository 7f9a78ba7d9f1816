"""What agents need from outside before they can work: tools of MCP servers, agents elsewhere, a place to run code in."""

from collections.abc import Iterable, Sequence
from typing import Any

from crewgraph.compiler.engagement import Engagement, own_tools
from crewgraph.compiler.remotes import found, meant_remotes, remotes_offered
from crewgraph.core.effects import Body, Call, Together
from crewgraph.core.loops.bridge import in_thread
from crewgraph.core.operations import Operation
from crewgraph.core.resources import RunResources
from crewgraph.definitions.agent import BaseAgent
from crewgraph.definitions.coworkers import CoworkerTool
from crewgraph.own_version import own_version
from crewgraph.prompts.book import Book
from crewgraph.tools.code import CodeInterpreterTool
from crewgraph.tools.mcp.server import Reference, references
from crewgraph.tools.mcp.tool import MCPTool, described_tools, made_tools, own_resolver

__all__ = ["LookAhead", "equipped", "mcp_references"]


def mcp_references(agent: BaseAgent) -> list[Reference]:
    """The MCP servers that an agent is to have the tools of; none where the program fetches them in a way of its own.

    Raises:
        DefinitionError: something in `mcps` leads to no server.
    """
    if not agent.mcps or own_version(agent, "get_mcp_tools") is not None:
        return []
    return references([one for one in agent.mcps if own_resolver(one, agent) is None])


def equipped(agent: BaseAgent, tools: Iterable[Any], taken: Iterable[str], book: Book) -> Body[list[Any]]:
    """The tools of an agent's MCP servers, and its remote agents; they are on record, so that a resumed run has the same.

    Args:
        agent: who is to have them.
        tools: its other tools, as objects.
        taken: the names of these.
        book: the wording.

    Raises:
        MCPServerError: a server is not there, or has not the tool that is meant.
        RemoteAgentError: a remote agent is not there.
        ToolFailed: code is to be run, and there is no place for it.
    """
    yield from _with_place_for_code(tools)
    taken = list(taken)
    fetched = yield from _of_servers(agent, taken)
    names = [*taken, *(tool.name for tool in fetched)]
    return [*fetched, *(yield from remotes_offered(agent, names, book))]


def _of_servers(agent: BaseAgent, taken: Iterable[str]) -> Body[list[MCPTool]]:
    meant = mcp_references(agent)
    if not meant:
        return []
    told: list[list[dict[str, Any]]] = yield Together([_listing(one, agent) for one in meant])
    return made_tools(meant, told, taken)


def _with_place_for_code(tools: Iterable[Any]) -> Body[None]:
    for tool in tools:
        if isinstance(tool, CodeInterpreterTool):
            yield Call(function=tool.check, name=tool.image, kind="a look for the image", about=tool.image)


def _listing(one: Reference, agent: BaseAgent) -> Call:
    return Call(
        function=described_tools,
        args=(one, agent),
        name=one.server.name,
        kind="the list of tools of",
        about=[one.server.key, one.only],
    )


class LookAhead(Operation):
    """Looks, before anything is done, whether there is what agents need from outside; what it opens stays open for the run.

    Args:
        engagements: who works, with which tools; those to whom they may hand work are looked at, too.
        opened: where what it opens is kept.

    Raises:
        CompileError: a coworker's code is to run on this machine.
        MCPServerError: a server is not there, or has not the tool that is meant.
        RemoteAgentError: a remote agent is not there.
        ToolFailed: code is to be run, and there is no place for it.
    """

    def __init__(self, engagements: Sequence[Engagement], opened: RunResources) -> None:
        sources = [tool.tool.source for one in engagements for tool in one.tools.values()]
        coworkers = [agent for one in sources if isinstance(one, CoworkerTool) for agent in one.agents]
        self.agents = list({id(one): one for one in [*(one.agent for one in engagements), *coworkers]}.values())
        for agent in coworkers:
            sources += own_tools(agent, agent.tools or (), None)
        self.images = {one.image: one for one in sources if isinstance(one, CodeInterpreterTool)}
        self.opened = opened

    def run(self) -> None:
        for tool in self.images.values():
            tool.check()
        with self.opened.used():
            for agent in self.agents:
                for one in mcp_references(agent):
                    described_tools(one, agent)
                for one in meant_remotes(agent):
                    found(one, agent)

    async def arun(self) -> None:
        if self.images or any(agent.mcps or agent.a2a for agent in self.agents):
            await in_thread(self.run)
