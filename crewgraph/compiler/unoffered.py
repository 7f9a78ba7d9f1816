"""What agents may ask for and are never given: refused with the reason, and with what there is instead."""

from crewgraph.compiler.remotes import meant_remotes
from crewgraph.definitions.agent import BaseAgent
from crewgraph.errors import CompileError, DefinitionError
from crewgraph.own_version import own_version
from crewgraph.tools.mcp.server import references
from crewgraph.tools.mcp.tool import own_resolver

__all__ = ["refuse_unoffered"]


def refuse_unoffered(agent: BaseAgent) -> None:
    """Refuse what an agent cannot have.

    Raises:
        CompileError: hosted applications, or an MCP server that cannot be found.
    """
    where = f"agent `{agent.role}`"
    if agent.apps and own_version(agent, "get_platform_tools") is None:
        agent.get_platform_tools(agent.apps)  # says why there are none
    meant_remotes(agent)
    if agent.mcps and own_version(agent, "get_mcp_tools") is None:
        try:
            references([one for one in agent.mcps if own_resolver(one, agent) is None])
        except DefinitionError as error:
            raise CompileError(f"`mcps` of {where}: {error}") from error
