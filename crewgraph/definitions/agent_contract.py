"""What classes of agents may override beside `execute_task`, and what programs call on agents to set them up."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from crewgraph.definitions.coworkers import AgentTools
from crewgraph.definitions.own_version import ours
from crewgraph.errors import CompileError

if TYPE_CHECKING:
    from crewgraph.definitions.agent import BaseAgent
    from crewgraph.definitions.task import Task

__all__ = ["AgentContract"]

_NOT_YET = (
    "this version of crewgraph has no tools for {what}; override `{method}` to give your own, or leave out {field}."
)


class AgentContract:
    """The part of an agent's class that a crew calls when it prepares a task."""

    @ours
    def create_agent_executor(self, tools: "Sequence[Any] | None" = None, task: "Task | None" = None) -> None:
        """Make what the agent works with: a class that overrides this sets `self.agent_executor`.

        It is called where there is no executor yet, in each process that works on a task. Our own loop needs no such thing,
        so that there is nothing to be done here; tools are given with each task.
        """

    @ours
    def get_delegation_tools(self, agents: "Sequence[BaseAgent]") -> list[Any]:
        """Tools for handing work to others, where `allow_delegation` is set and there are others."""
        return list(AgentTools(agents).tools())

    @ours
    def get_platform_tools(self, apps: Sequence[Any]) -> list[Any]:
        """Tools of hosted applications, where `apps` are given.

        Raises:
            CompileError: the class has none of its own.
        """
        raise CompileError(_NOT_YET.format(what="hosted applications", method="get_platform_tools", field="`apps`"))

    @ours
    def get_mcp_tools(self, mcps: Sequence[Any]) -> list[Any]:
        """Tools of MCP servers, where `mcps` are given.

        Raises:
            CompileError: the class has none of its own.
        """
        raise CompileError(_NOT_YET.format(what="MCP servers", method="get_mcp_tools", field="`mcps`"))
