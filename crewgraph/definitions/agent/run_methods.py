"""The methods of agents: working on a task, answering a conversation, and the hooks that subclasses may override.

The work itself is done by `crewgraph.runtime.agent`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, cast

from crewgraph.definitions.checkpoints import CheckpointSettings, apply_from_checkpoint
from crewgraph.errors import CompileError
from crewgraph.extensions import extension
from crewgraph.lazy import lazy
from crewgraph.overrides import overridable
from crewgraph.tracebacks import traced_to_the_caller

if TYPE_CHECKING:
    from pydantic import BaseModel

    from crewgraph.definitions.agent.agent import BaseAgent
    from crewgraph.definitions.agent.delegation_tools import AgentTools
    from crewgraph.definitions.agent.lite_agent import LiteAgentOutput
    from crewgraph.definitions.task.conversion import Converter
    from crewgraph.definitions.task.task import Task
    from crewgraph.memory.memory import Memory
    from crewgraph.runtime.agent.standalone import aanswer, answer, areply, reply
    from crewgraph.tools.base import BaseTool
    from crewgraph.tools.mcp.tool import MCPToolResolver
else:
    Converter = lazy("crewgraph.definitions.task.conversion:Converter")
    aanswer = lazy("crewgraph.runtime.agent.standalone:aanswer")
    answer = lazy("crewgraph.runtime.agent.standalone:answer")
    Memory = lazy("crewgraph.memory.memory:Memory")
    areply = lazy("crewgraph.runtime.agent.standalone:areply")
    reply = lazy("crewgraph.runtime.agent.standalone:reply")
    MCPToolResolver = lazy("crewgraph.tools.mcp.tool:MCPToolResolver")
    AgentTools = lazy("crewgraph.definitions.agent.delegation_tools:AgentTools")

__all__ = ["AgentContract", "AgentRunMethods", "KickoffMethods"]


class AgentRunMethods:
    """Methods that work on a task. Tasks call the overrides of a subclass or a patch."""

    @overridable
    def execute_task(self, task: "Task", context: str | None = None, tools: Sequence[Any] | None = None) -> str:
        """Work on a task outside of a crew and return the raw answer; guardrails are not run and nothing is stored.

        Args:
            task: The task.
            context: The outputs of other tasks, as text.
            tools: The tools that may be used; None uses those of the task, else the agent's.

        Raises:
            TimeLimitReached: The work took longer than `max_execution_time` seconds.
            Exception: Any error of the model.
        """
        return answer(cast("BaseAgent", self), task, context, tools)

    @overridable
    async def aexecute_task(self, task: "Task", context: str | None = None, tools: Sequence[Any] | None = None) -> str:
        """Work on a task on this event loop; see `execute_task`."""
        return await aanswer(cast("BaseAgent", self), task, context, tools)

    def set_skills(self, resolved_crew_skills: list[Any] | None = None) -> None:
        """Load the skills that `skills` names, and add others. Runs do this on their own.

        Args:
            resolved_crew_skills: Skills to add; the agent's own win over those of the same name.

        Raises:
            FileNotFoundError: A folder does not exist.
            ValueError: An entry is not a skill and does not name one.
        """
        agent = cast(Any, self)
        agent.skills = extension("skills.read")(agent.skills or (), resolved_crew_skills or (), self) or None

    def resolve_memory(self) -> Self:
        """Create a memory with the agent's model if `memory` is True. Runs do this if the crew has no memory."""
        agent = cast(Any, self)
        if agent.memory is True:
            agent.memory = Memory(llm=agent.llm)
        return self


class KickoffMethods:
    """Methods that answer a conversation without a task or a crew."""

    @traced_to_the_caller
    def kickoff(
        self,
        messages: "str | Sequence[object]",
        response_format: "type[BaseModel] | None" = None,
        input_files: object = None,
        from_checkpoint: CheckpointSettings | None = None,
    ) -> "LiteAgentOutput":
        """Answer a conversation without a task or a crew. Works in scripts, threads and inside a running event loop.

        Inside a node of a LangGraph graph the work becomes part of that graph: completed work is not repeated on resume.
        Placeholders in role, goal and backstory are not filled.

        Args:
            messages: A string, or a list of messages: dicts with `role` and `content`, or LangChain messages.
            response_format: A pydantic model to return the answer as, in addition to the text.
            input_files: Files of the conversation, by name; see `Crew.kickoff`.
            from_checkpoint: The checkpoint of a kickoff to continue. Without `restore_from`, sets how checkpoints are made
                from now on.

        Raises:
            CompileError: The agent uses a feature that is not supported.
            GuardrailFailed: The `guardrail` rejected every attempt.
            TimeLimitReached: The work took longer than `max_execution_time` seconds.
            Exception: Any error of the model, with a note that names the agent.
        """
        apply_from_checkpoint(self, from_checkpoint)
        return reply(cast("BaseAgent", self), messages, response_format, input_files)

    def message(self, content: str, **kwargs: Any) -> str:
        """Answer one message and return the text. Accepts the keywords of `kickoff`."""
        return self.kickoff(content, **kwargs).raw

    @traced_to_the_caller
    async def akickoff(
        self,
        messages: "str | Sequence[object]",
        response_format: "type[BaseModel] | None" = None,
        input_files: object = None,
        from_checkpoint: CheckpointSettings | None = None,
    ) -> "LiteAgentOutput":
        """Answer a conversation on this event loop; see `kickoff`."""
        apply_from_checkpoint(self, from_checkpoint)
        return await areply(cast("BaseAgent", self), messages, response_format, input_files)

    @overridable
    @traced_to_the_caller
    async def kickoff_async(
        self,
        messages: "str | Sequence[object]",
        response_format: "type[BaseModel] | None" = None,
        input_files: object = None,
        from_checkpoint: CheckpointSettings | None = None,
    ) -> "LiteAgentOutput":
        """CrewAI's name for `akickoff`."""
        return await self.akickoff(messages, response_format, input_files, from_checkpoint)


class AgentContract:
    """Hooks that a crew calls when it prepares a task; subclasses may override them."""

    @overridable
    def create_agent_executor(self, tools: "Sequence[Any] | None" = None, task: "Task | None" = None) -> None:
        """Create the agent's executor: an override sets `self.agent_executor`.

        Called if there is no executor yet, in each process that works on a task. The default does nothing, as our own loop
        needs no executor.
        """

    @overridable
    def get_output_converter(self, llm: object, text: str, model: "type[BaseModel]", instructions: str) -> Converter:
        """Return the converter that extracts a structured output if the answer holds none and the task has no `converter_cls`.

        Args:
            llm: The model that extracts the structure.
            text: The answer.
            model: The pydantic model to extract.
            instructions: The system prompt of the extraction.
        """
        return Converter(llm=llm, text=text, model=model, instructions=instructions)

    @overridable
    def get_delegation_tools(self, agents: "Sequence[BaseAgent]") -> list[Any]:
        """Return the tools for delegating to `agents`; used if `allow_delegation` is set and there are other agents."""
        return list(AgentTools(agents).tools())

    @overridable
    def get_platform_tools(self, apps: Sequence[Any]) -> list[Any]:
        """Return the tools of the applications in `apps`. There are none by default; a subclass may override this.

        Raises:
            CompileError: The class does not override this method.
        """
        raise CompileError(
            f"`apps` ({', '.join(map(str, apps))}) are applications of CrewAI's hosted platform, with which crewgraph has "
            "nothing to do. Many of them have MCP servers, for `mcps=[...]`, or LangChain tools, for `tools=[...]`; or "
            "override `get_platform_tools`."
        )

    @overridable
    def get_mcp_tools(self, mcps: Sequence[Any]) -> "list[BaseTool]":
        """Connect to MCP servers and return their tools. Runs do this for `mcps` on their own.

        Args:
            mcps: Servers, as for the field `mcps`.

        Raises:
            DefinitionError: An entry does not name a server.
            MCPServerError: A server cannot be reached, or does not have the requested tool.
            MissingExtra: The package for MCP is not installed.
        """
        return MCPToolResolver(self).resolve(mcps)
