"""The remote agents of agents: found before anything is done, and again by the body of a task."""

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from crewgraph.core.effects import Body, Call, Together
from crewgraph.definitions.agent import BaseAgent
from crewgraph.definitions.given_remotes import remotes_of
from crewgraph.errors import CompileError, RemoteAgentError
from crewgraph.lazy import lazy
from crewgraph.prompts.book import Book

if TYPE_CHECKING:
    from crewgraph.tools.a2a.session import card_of
    from crewgraph.tools.a2a.tool import remote_tools
else:
    card_of = lazy("crewgraph.tools.a2a.session:card_of")
    remote_tools = lazy("crewgraph.tools.a2a.tool:remote_tools")

__all__ = ["found", "meant_remotes", "remotes_offered"]

_log = logging.getLogger("crewgraph.tools")


def meant_remotes(agent: BaseAgent) -> list[Any]:
    """The remote agents that an agent may hand work to, as they are described.

    Raises:
        CompileError: one is to be reached otherwise than by JSON-RPC.
    """
    meant = remotes_of(agent.a2a)
    for one in meant:
        if one.transport.preferred not in (None, "JSONRPC") or "JSONRPC" not in one.transport.supported:
            raise CompileError(
                f"agent `{agent.role}`: the remote agent `{one.endpoint}` is to be reached by "
                f"{one.transport.preferred or ', '.join(one.transport.supported)}. crewgraph speaks JSON-RPC: leave "
                "`transport` out."
            )
    return meant


def found(remote: Any, agent: BaseAgent) -> dict[str, Any]:
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


def remotes_offered(agent: BaseAgent, taken: Iterable[str], book: Book) -> Body[list[Any]]:
    """Remote agents as tools; what their cards say is on record, so that a resumed run has the same.

    Args:
        agent: who is to have them.
        taken: the names of its other tools.
        book: the wording.

    Raises:
        RemoteAgentError: one is not there.
    """
    meant = meant_remotes(agent)
    if not meant:
        return []
    cards: list[dict[str, Any]] = yield Together([_card(one, agent) for one in meant])
    return remote_tools(meant, cards, taken, book)


def _card(remote: Any, agent: BaseAgent) -> Call:
    return Call(function=found, args=(remote, agent), name=remote.endpoint, kind="the card of", about=[remote.endpoint])
