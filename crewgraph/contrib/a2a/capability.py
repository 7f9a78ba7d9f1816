"""Remote agents as a capability of an agent: their cards are looked at before anything is done, and again by each task."""

import logging
from collections.abc import Iterable
from typing import Any

from crewgraph.compiler.agent.capabilities import Capability
from crewgraph.compiler.agent.event_tool import EventTool
from crewgraph.contrib.a2a.config import RemoteAgent, remotes_of
from crewgraph.contrib.a2a.conversation import RemoteAtHand
from crewgraph.contrib.a2a.session import card_of
from crewgraph.contrib.a2a.tool import RemoteAgentTool, remote_tools
from crewgraph.core.effects import Body, Call, Together
from crewgraph.definitions.agent.agent import BaseAgent
from crewgraph.errors import CompileError, RemoteAgentError
from crewgraph.overrides import override_of
from crewgraph.prompts.book import Book

__all__ = ["RemoteAgentsCapability"]

_log = logging.getLogger("crewgraph.tools")


class RemoteAgentsCapability(Capability):
    """The remote agents in `Agent(a2a=...)`, each as a tool."""

    fetches_tools = True

    @property
    def _remotes(self) -> list[RemoteAgent]:
        """The remote agents, as they are described.

        Raises:
            CompileError: one is to be reached otherwise than by JSON-RPC.
        """
        remotes = remotes_of(self.agent.a2a)
        for remote in remotes:
            preferred, supported = remote.transport.preferred, remote.transport.supported
            if preferred not in (None, "JSONRPC") or "JSONRPC" not in supported:
                raise CompileError(
                    f"agent `{self.agent.role}`: the remote agent `{remote.endpoint}` is to be reached by "
                    f"{preferred or ', '.join(supported)}. crewgraph speaks JSON-RPC: leave `transport` out."
                )
        return remotes

    def check(self) -> None:
        _ = self._remotes

    def check_available(self) -> None:
        """Ask for the cards.

        Raises:
            RemoteAgentError: a remote agent is not there.
        """
        for remote in self._remotes:
            _card_of(remote, self.agent)

    def fetch_tools(self, taken: Iterable[str], book: Book) -> Body[list[Any]]:
        """The remote agents as tools.

        Raises:
            RemoteAgentError: one is not there.
        """
        remotes = self._remotes
        if not remotes:
            return []
        cards: list[dict[str, Any]] = yield Together([self._card(remote) for remote in remotes])
        return [*remote_tools(remotes, cards, taken, book)]

    def _card(self, remote: RemoteAgent) -> Call:
        address = remote.endpoint
        return Call(function=_card_of, args=(remote, self.agent), name=address, kind="the card of", about=[address])

    def adapt_tool(self, tool: EventTool, book: Book) -> EventTool:
        source = tool.tool.tool.source
        if not isinstance(source, RemoteAgentTool) or override_of(source, "_run") is not None:
            return tool
        return RemoteAtHand(tool.tool, tool.agent, tool.task, source, book, crew=tool.crew)


def _card_of(remote: RemoteAgent, agent: BaseAgent) -> dict[str, Any]:
    """A remote agent's card; an empty one where it is not there and may be missing.

    Raises:
        RemoteAgentError: it is not there.
    """
    about = {"endpoint": remote.endpoint, "from_agent": agent}
    try:
        return card_of(remote, about)
    except RemoteAgentError as error:
        if remote.fail_fast:
            raise
        _log.warning("agent `%s` works without a remote agent: %s", agent.role, error)
        return {}
