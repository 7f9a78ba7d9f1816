"""What classes of agents may override beside `execute_task`, and what programs call on agents to set them up."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from crewgraph.definitions.converter import Converter
from crewgraph.definitions.coworkers import AgentTools
from crewgraph.errors import CompileError
from crewgraph.extras import load
from crewgraph.own_version import ours

if TYPE_CHECKING:
    from pydantic import BaseModel

    from crewgraph.definitions.agent import BaseAgent
    from crewgraph.definitions.task import Task
    from crewgraph.tools.mcp.tool import MCPTool

__all__ = ["AgentContract"]


class AgentContract:
    """The part of an agent's class that a crew calls when it prepares a task."""

    @ours
    def create_agent_executor(self, tools: "Sequence[Any] | None" = None, task: "Task | None" = None) -> None:
        """Make what the agent works with: a class that overrides this sets `self.agent_executor`.

        It is called where there is no executor yet, in each process that works on a task. Our own loop needs no such thing,
        so that there is nothing to be done here; tools are given with each task.
        """

    @ours
    def get_output_converter(self, llm: Any, text: str, model: "type[BaseModel]", instructions: str) -> Converter:
        """What makes a structure of an answer, where the answer is none and the task has no `converter_cls`.

        Args:
            llm: who is asked for the structure.
            text: the answer.
            model: what it becomes.
            instructions: how the model is told so.
        """
        return Converter(llm=llm, text=text, model=model, instructions=instructions)

    @ours
    def get_delegation_tools(self, agents: "Sequence[BaseAgent]") -> list[Any]:
        """Tools for handing work to others, where `allow_delegation` is set and there are others."""
        return list(AgentTools(agents).tools())

    @ours
    def get_platform_tools(self, apps: Sequence[Any]) -> list[Any]:
        """Tools of CrewAI's hosted applications, where `apps` are given: a class may have its own, we have none.

        Raises:
            CompileError: the class has none of its own.
        """
        raise CompileError(
            f"`apps` ({', '.join(map(str, apps))}) are applications of CrewAI's hosted platform, with which crewgraph has "
            "nothing to do. Many of them have MCP servers, for `mcps=[...]`, or LangChain tools, for `tools=[...]`; or "
            "override `get_platform_tools`."
        )

    @ours
    def get_mcp_tools(self, mcps: Sequence[Any]) -> "list[MCPTool]":
        """Tools of MCP servers, which are asked for them now; in a run the agent gets those of `mcps` without this.

        Args:
            mcps: as the field.

        Raises:
            DefinitionError: something of it leads to no server.
            MCPServerError: a server is not there, or has not the tool that is meant.
            MissingExtra: the package for MCP is not installed.
        """
        offered: list[MCPTool] = load("crewgraph.tools.mcp.tool").MCPToolResolver(self).resolve(mcps)
        return offered
