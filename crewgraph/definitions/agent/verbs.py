"""The verbs of agents that work on tasks.

What an agent does for a conversation, without a task and without a crew.

What classes of agents may override beside `execute_task`, and what programs call on agents to set them up.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, cast

from crewgraph.definitions.agent.delegation_tools import AgentTools
from crewgraph.definitions.checkpoints import CheckpointSettings, apply_from_checkpoint
from crewgraph.definitions.task.conversion import Converter
from crewgraph.errors import CompileError
from crewgraph.extensions import extension
from crewgraph.lazy import lazy
from crewgraph.overrides import overridable

if TYPE_CHECKING:
    from pydantic import BaseModel

    from crewgraph.definitions.agent.agent import BaseAgent
    from crewgraph.definitions.agent.lite_agent import LiteAgentOutput
    from crewgraph.definitions.task.task import Task
    from crewgraph.memory.memory import Memory
    from crewgraph.runtime.agent.standalone import aanswer, answer, areply, reply
    from crewgraph.tools.base import BaseTool
    from crewgraph.tools.mcp.tool import MCPToolResolver
else:
    aanswer = lazy("crewgraph.runtime.agent.standalone:aanswer")
    answer = lazy("crewgraph.runtime.agent.standalone:answer")
    Memory = lazy("crewgraph.memory.memory:Memory")
    areply = lazy("crewgraph.runtime.agent.standalone:areply")
    reply = lazy("crewgraph.runtime.agent.standalone:reply")
    MCPToolResolver = lazy("crewgraph.tools.mcp.tool:MCPToolResolver")

__all__ = ["AgentContract", "AgentVerbs", "KickoffVerbs"]


class AgentVerbs:
    """What can be done with an agent; a task calls a subclass's or a patch's version of these instead of its own."""

    @overridable
    def execute_task(self, task: "Task", context: str | None = None, tools: Sequence[Any] | None = None) -> str:
        """Work on a task, outside of a crew: the answer as the model wrote it, neither judged nor kept.

        Args:
            task: what is to be done.
            context: what others found out.
            tools: what may be used; the task's, else its own where None.

        Raises:
            TimeLimitReached: it took longer than `max_execution_time`.
            Exception: whatever the model raised.
        """
        return answer(cast("BaseAgent", self), task, context, tools)

    @overridable
    async def aexecute_task(self, task: "Task", context: str | None = None, tools: Sequence[Any] | None = None) -> str:
        """Work on a task on this event loop; see `execute_task`."""
        return await aanswer(cast("BaseAgent", self), task, context, tools)

    def set_skills(self, resolved_crew_skills: list[Any] | None = None) -> None:
        """Look for the skills that `skills` leads to, and add others; in a run the agent has those of its crew without this.

        Args:
            resolved_crew_skills: skills to add; of two with one name its own counts.

        Raises:
            FileNotFoundError: a folder is not there.
            ValueError: something is no skill, and leads to none.
        """
        agent = cast(Any, self)
        agent.skills = extension("skills.read")(agent.skills or (), resolved_crew_skills or (), self) or None

    def resolve_memory(self) -> Self:
        """Make a memory of its own, with its own model, where `memory` is True; a run does so where the crew has none."""
        agent = cast(Any, self)
        if agent.memory is True:
            agent.memory = Memory(llm=agent.llm)
        return self


class KickoffVerbs:
    """The ways to have an agent answer a conversation."""

    def kickoff(
        self,
        messages: "str | Sequence[Any]",
        response_format: "type[BaseModel] | None" = None,
        input_files: Any = None,
        from_checkpoint: CheckpointSettings | None = None,
    ) -> "LiteAgentOutput":
        """Answer a conversation without a task or a crew; works in scripts, threads and inside a running event loop.

        In a node of a LangGraph graph it is a part of that graph: what was done is not done again by a resume. Placeholders
        in role, goal and backstory stay as they are.

        Args:
            messages: what is asked: a text, or messages: dicts with `role` and `content`, or LangChain's.
            response_format: a pydantic model that the answer is given as, too.
            input_files: files that belong to the conversation, by name; see `Crew.kickoff`.
            from_checkpoint: the checkpoint of a kickoff that is gone on with; where it has no `restore_from`, how checkpoints
                are made from now on.

        Raises:
            CompileError: the agent uses something that is not offered yet.
            GuardrailFailed: its `guardrail` refused every attempt.
            TimeLimitReached: it took longer than `max_execution_time`.
            Exception: whatever the model raised, with a note that names the agent.
        """
        apply_from_checkpoint(self, from_checkpoint)
        return reply(cast("BaseAgent", self), messages, response_format, input_files)

    def message(self, content: str, **kwargs: Any) -> str:
        """Answer one message, as a text; the keywords are those of `kickoff`."""
        return self.kickoff(content, **kwargs).raw

    async def akickoff(
        self,
        messages: "str | Sequence[Any]",
        response_format: "type[BaseModel] | None" = None,
        input_files: Any = None,
        from_checkpoint: CheckpointSettings | None = None,
    ) -> "LiteAgentOutput":
        """Answer a conversation on this event loop; see `kickoff`."""
        apply_from_checkpoint(self, from_checkpoint)
        return await areply(cast("BaseAgent", self), messages, response_format, input_files)

    async def kickoff_async(
        self,
        messages: "str | Sequence[Any]",
        response_format: "type[BaseModel] | None" = None,
        input_files: Any = None,
        from_checkpoint: CheckpointSettings | None = None,
    ) -> "LiteAgentOutput":
        """CrewAI's name for `akickoff`."""
        return await self.akickoff(messages, response_format, input_files, from_checkpoint)


class AgentContract:
    """The part of an agent's class that a crew calls when it prepares a task."""

    @overridable
    def create_agent_executor(self, tools: "Sequence[Any] | None" = None, task: "Task | None" = None) -> None:
        """Make what the agent works with: a class that overrides this sets `self.agent_executor`.

        It is called where there is no executor yet, in each process that works on a task. Our own loop needs no such thing,
        so that there is nothing to be done here; tools are given with each task.
        """

    @overridable
    def get_output_converter(self, llm: Any, text: str, model: "type[BaseModel]", instructions: str) -> Converter:
        """What makes a structure of an answer, where the answer is none and the task has no `converter_cls`.

        Args:
            llm: who is asked for the structure.
            text: the answer.
            model: what it becomes.
            instructions: how the model is told so.
        """
        return Converter(llm=llm, text=text, model=model, instructions=instructions)

    @overridable
    def get_delegation_tools(self, agents: "Sequence[BaseAgent]") -> list[Any]:
        """Tools for handing work to others, where `allow_delegation` is set and there are others."""
        return list(AgentTools(agents).tools())

    @overridable
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

    @overridable
    def get_mcp_tools(self, mcps: Sequence[Any]) -> "list[BaseTool]":
        """Tools of MCP servers, which are asked for them now; in a run the agent gets those of `mcps` without this.

        Args:
            mcps: as the field.

        Raises:
            DefinitionError: something of it leads to no server.
            MCPServerError: a server is not there, or has not the tool that is meant.
            MissingExtra: the package for MCP is not installed.
        """
        return MCPToolResolver(self).resolve(mcps)
