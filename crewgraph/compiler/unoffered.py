"""What agents may ask for and are never given: refused with the reason, and with what there is instead."""

from crewgraph.definitions.agent import BaseAgent
from crewgraph.definitions.own_version import own_version
from crewgraph.errors import CompileError, DefinitionError
from crewgraph.tools.mcp.reference import references

__all__ = ["refuse_unoffered"]


def refuse_unoffered(agent: BaseAgent) -> None:
    """Refuse what an agent cannot have.

    Raises:
        CompileError: hosted applications, or an MCP server that cannot be found.
    """
    where = f"agent `{agent.role}`"
    if agent.apps and own_version(agent, "get_platform_tools") is None:
        agent.get_platform_tools(agent.apps)  # says why there are none
    if agent.mcps and own_version(agent, "get_mcp_tools") is None:
        try:
            references(agent.mcps)
        except DefinitionError as error:
            raise CompileError(f"`mcps` of {where}: {error}") from error
