"""What agents need from outside before they can work: tools of their capabilities, a place to run code in."""

from collections.abc import Iterable, Sequence
from typing import Any

from crewgraph.compiler.agent.binding import AgentBinding, own_tools
from crewgraph.compiler.agent.capabilities import Capability, capabilities_of, fetches_tools
from crewgraph.core.effects import Body, Call
from crewgraph.core.loops.bridge import in_thread
from crewgraph.core.operations import Operation
from crewgraph.core.resources import RunResources
from crewgraph.definitions.agent.delegation_tools import CoworkerTool
from crewgraph.prompts.book import Book
from crewgraph.tools.code import CodeInterpreterTool

__all__ = ["LookAhead", "load_external_tools"]


def load_external_tools(
    capabilities: Sequence[Capability], tools: Iterable[Any], taken: Iterable[str], book: Book
) -> Body[list[Any]]:
    """The tools that an agent's capabilities fetch; they are on record, so that a resumed run has the same.

    Args:
        capabilities: the agent's.
        tools: its other tools, as objects.
        taken: the names of these.
        book: the wording.

    Raises:
        MCPServerError: a server is not there, or has not the tool that is meant.
        RemoteAgentError: a remote agent is not there.
        ToolFailed: code is to be run, and there is no place for it.
    """
    yield from _with_place_for_code(tools)
    names, fetched = [*taken], list[Any]()
    for capability in capabilities:
        fetched += yield from capability.fetched([*names, *(tool.name for tool in fetched)], book)
    return fetched


def _with_place_for_code(tools: Iterable[Any]) -> Body[None]:
    for tool in tools:
        if isinstance(tool, CodeInterpreterTool):
            yield Call(function=tool.check, name=tool.image, kind="a look for the image", about=tool.image)


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

    def __init__(self, engagements: Sequence[AgentBinding], opened: RunResources) -> None:
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
                for capability in capabilities_of(agent):
                    capability.look_ahead()

    async def arun(self) -> None:
        if self.images or any(map(fetches_tools, self.agents)):
            await in_thread(self.run)
