"""What agents may ask for and are never given: refused with the reason, and with what there is instead."""

from crewgraph.compiler.capabilities import capabilities_of
from crewgraph.definitions.agent import BaseAgent
from crewgraph.overrides import override_of

__all__ = ["refuse_unoffered"]


def refuse_unoffered(agent: BaseAgent) -> None:
    """Refuse what an agent cannot have.

    Raises:
        CompileError: hosted applications, an MCP server that cannot be found, or a remote agent that does not speak JSON-RPC.
    """
    if agent.apps and override_of(agent, "get_platform_tools") is None:
        agent.get_platform_tools(agent.apps)  # says why there are none
    for capability in capabilities_of(agent):
        capability.check()
