"""Remote agents as a capability of an agent: cards are fetched before the run starts, and again for each task."""

from collections.abc import Iterable
from typing import Any

from crewgraph.compiler.agent.capabilities import Capability
from crewgraph.compiler.agent.event_tool import EventTool
from crewgraph.contrib.a2a.calls import in_session, require_sdk
from crewgraph.contrib.a2a.config import A2AClientConfig, remotes_of
from crewgraph.contrib.a2a.conversation import BoundRemoteAgent
from crewgraph.contrib.a2a.tool import RemoteAgentTool, remote_tools
from crewgraph.core.effects import Body, Call, Together
from crewgraph.definitions.agent.agent import BaseAgentDefinition
from crewgraph.errors import CompileError, RemoteAgentError
from crewgraph.overrides import override_of
from crewgraph.prompts.i18n import Book
from crewgraph.redaction import redacted_logger

_log = redacted_logger("crewgraph.tools")


class RemoteAgentsCapability(Capability):
    """The remote agents in `Agent(a2a=...)`, each as a tool."""

    fetches_tools = True

    @property
    def _remotes(self) -> list[A2AClientConfig]:
        """The configured remote agents.

        Raises:
            CompileError: If one requires a transport other than JSON-RPC.
        """
        remotes = remotes_of(self.agent.a2a)
        for remote in remotes:
            preferred, supported = remote.transport.preferred, remote.transport.supported
            if preferred not in (None, "JSONRPC") or "JSONRPC" not in supported:
                raise CompileError(
                    f"{self.agent.called}: the remote agent `{remote.endpoint}` requires "
                    f"{preferred or ', '.join(supported)}, but crewgraph speaks JSON-RPC only: remove `transport`."
                )
        return remotes

    def check(self) -> None:
        if self._remotes:
            require_sdk()

    def check_available(self) -> None:
        """Fetch the cards, so that an unreachable remote agent fails before the run starts.

        Raises:
            RemoteAgentError: If a remote agent cannot be reached.
        """
        for remote in self._remotes:
            _fetch_card(remote, self.agent)

    def fetch_tools(self, taken: Iterable[str], book: Book) -> Body[list[Any]]:
        """Return the remote agents as tools.

        Raises:
            RemoteAgentError: If one cannot be reached.
        """
        remotes = self._remotes
        if not remotes:
            return []
        cards: list[dict[str, object]] = yield Together(
            [
                Call(
                    function=_fetch_card,
                    args=(remote, self.agent),
                    name=remote.endpoint,
                    kind="the card of",
                    about=[remote.endpoint],
                )
                for remote in remotes
            ]
        )
        return [*remote_tools(remotes, cards, taken, book)]

    def adapt_tool(self, tool: EventTool, book: Book) -> EventTool:
        source = tool.tool.tool.source
        if not isinstance(source, RemoteAgentTool) or override_of(source, "_run") is not None:
            return tool
        return BoundRemoteAgent(tool.tool, tool.agent, tool.task, source, book, crew=tool.crew)


def _fetch_card(remote: A2AClientConfig, agent: BaseAgentDefinition) -> dict[str, object]:
    """Return a remote agent's card; an empty one if it is unreachable and `fail_fast` is off.

    Raises:
        RemoteAgentError: If it cannot be reached and `fail_fast` is on.
    """
    try:
        return in_session(remote, lambda session: session.card())
    except RemoteAgentError as error:
        if remote.fail_fast:
            raise
        _log.warning("agent `%s` works without a remote agent: %s", agent.role, error)
        return {}
