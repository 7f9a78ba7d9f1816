"""What agents may ask for and are never given: refused with the reason, and with what there is instead."""

from crewgraph.definitions.agent import Agent, BaseAgent
from crewgraph.definitions.own_version import own_version
from crewgraph.errors import CompileError, DefinitionError
from crewgraph.tools.code import is_code_interpreter
from crewgraph.tools.mcp.reference import references

__all__ = ["refuse_unoffered"]


def refuse_unoffered(agent: BaseAgent) -> None:
    """Refuse what an agent cannot have.

    Raises:
        CompileError: hosted applications, code on this machine, or an MCP server that cannot be found.
    """
    where = f"agent `{agent.role}`"
    if agent.apps and own_version(agent, "get_platform_tools") is None:
        agent.get_platform_tools(agent.apps)
    if agent.mcps and own_version(agent, "get_mcp_tools") is None:
        try:
            references(agent.mcps)
        except DefinitionError as error:
            raise CompileError(f"`mcps` of {where}: {error}") from error
    if isinstance(agent, Agent) and agent.allow_code_execution and not any(map(is_code_interpreter, agent.tools or ())):
        agent.get_code_execution_tools()
