"""The resources of an agent in one run: its models, its tools, its memories and its files."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from crewgraph.compiler.agent.binding import AgentBinding, guarded_tools, may_have_executor
from crewgraph.compiler.agent.capabilities import Capability, capabilities_of
from crewgraph.compiler.agent.external_tools import load_external_tools
from crewgraph.compiler.agent.files import NO_FILES, AvailableFiles
from crewgraph.compiler.agent.memory_calls import Memories, memories_of
from crewgraph.compiler.agent.models import configured_model_of, llm_of
from crewgraph.compiler.agent.toolbox import PreparedTool, Toolbox
from crewgraph.core.effects import Body, Call
from crewgraph.core.files import FileRecord
from crewgraph.core.protocols import Model
from crewgraph.definitions.task.task import TaskDefinition
from crewgraph.errors import CompileError
from crewgraph.extensions import extension
from crewgraph.llm.capabilities import input_modalities
from crewgraph.llm.structure import structured_model
from crewgraph.overrides import override_of
from crewgraph.prompts.book import Book
from crewgraph.schema import PlainMapping
from crewgraph.text import slug
from crewgraph.tools.use import GuardedTool

if TYPE_CHECKING:
    from crewgraph.compiler.agent.event_tool import EventTool
    from crewgraph.compiler.agent.executor import Executor

__all__ = ["AgentResources", "memory_tools"]


def memory_tools(memories: Memories, model: Model, reserved: Collection[str], book: Book) -> list[object]:
    """Return the tools for a unified memory, without those whose names are taken.

    Models without native tool calls get none: in the text protocol every tool makes each prompt longer.

    Args:
        memories: the agent's memories.
        model: the agent's model.
        reserved: the names of its other tools.
        book: the prompts.
    """
    from crewgraph.memory.memory import MemoryReads

    if not isinstance(memories.unified, MemoryReads) or not model.native_tools:
        return []
    from crewgraph.tools.memory import create_memory_tools

    return [tool for tool in create_memory_tools(memories.unified, book) if tool.spec["name"] not in reserved]


class AgentResources:
    """Models, tools, memories and files of an agent in one run.

    `load` fetches external resources. `assemble` then prepares the built-in loop or the executor; an override
    of the agent's method works without it, and may do without a model.

    Args:
        binding: the agent and its tools.
        book: the prompts.
        task: the task; None for a kickoff with messages.
        files: the files of the run, by name.
        prepare: converts a tool for the loop; by default, `adapt`.
    """

    memories: Memories | None
    """The agent's memories; None if it has none. From here on, what `load` sets."""

    executor: "Executor | None"
    """What does the work in place of the built-in loop, if anything. From here on, what `assemble` sets."""

    native_tools: bool
    """Whether the model is offered tools through native tool calls."""

    event_tools: "Mapping[str, EventTool]"
    """All tools: its own and, for the built-in loop, those for its memory and the one that reads files."""

    tools: Toolbox
    """The tools for the built-in loop; empty if an executor does the work, which gets the tools in its own way."""

    notes: tuple[str, ...]
    """What the capabilities add to the prompt."""

    files: AvailableFiles
    """The files of the run, and which of them the model is shown."""

    def __init__(
        self,
        binding: AgentBinding,
        book: Book,
        task: TaskDefinition | None,
        files: Mapping[str, FileRecord] | None = None,
        prepare: "Callable[[EventTool], PreparedTool] | None" = None,
    ) -> None:
        self.binding, self.agent, self.crew, self.task, self.book = binding, binding.agent, binding.crew, task, book
        self.capabilities: tuple[Capability, ...] = capabilities_of(self.agent, self.crew, task)
        """What its MCP servers, remote agents and skills add to it."""

        self.file_records: Mapping[str, FileRecord] = files or {}
        """The files of the run, by name; those of the task are added when they are loaded."""

        self.given_tools: list[object] = [*binding.given_tools]
        """Its tools as objects: the user's, and those of its MCP servers once loaded."""

        self._prepare = prepare
        self._fetched: Sequence[object] = ()
        self._is_loaded = self._is_assembled = False

    def load(self) -> Body[None]:
        """Load the agent's external resources, once: the tools of its MCP servers, a code sandbox, its task's files.

        Raises:
            MCPServerError: a server cannot be reached, or lacks a tool that was named.
            RemoteAgentError: a remote agent cannot be reached.
            ToolFailed: code cannot be run here.
        """
        if self._is_loaded:
            return
        tools = self.binding.tools
        if tools or self.capabilities:
            sources = [tool.tool.source for tool in tools.values()]
            self._fetched = yield from load_external_tools(self.capabilities, sources, tools, self.book)
            self.given_tools += self._fetched
        if self.task is not None and self.task.input_files:
            yield from self._add_task_files(self.task.input_files)
        self.memories = memories_of(self.agent, self.crew)
        self._is_loaded = True

    def _add_task_files(self, files: PlainMapping) -> Body[None]:
        """Record the task's input files as they are now."""
        records: dict[str, FileRecord] = yield Call(
            function=extension("files.record"),
            args=(files,),
            name="input_files",
            kind="the files",
            about=sorted(files),
        )
        self.file_records = {**self.file_records, **records}

    def assemble(self) -> None:
        """Prepare the loop or the executor, once.

        Raises:
            CompileError: the executor has a setting that it cannot apply.
            ModelError: the agent needs a model and has none.
        """
        if self._is_assembled:
            return
        own = self._as_event_tools(self._fetched, self.binding.tools)
        self.executor = self._executor(own)
        self.files = self._available_files(own)
        self.event_tools = self._with_own_tools(own) if self.executor is None else own
        offered = list(self.event_tools.items()) if self.executor is None and self.event_tools else []
        prepare = self._prepare or self.adapt
        self.tools = Toolbox({name: prepare(tool) for name, tool in offered})
        self.native_tools = self.executor is None and self.model.native_tools
        if not self.native_tools and getattr(self.agent, "middleware", None) and self.executor is None and self.tools:
            raise CompileError(
                f"{self.binding.where}: its model `{self.model.name}` has no native tool calls, which the loop with middleware "
                "needs. Use another model, or remove `middleware`: the built-in loop can also call tools by a text protocol."
            )
        self.notes = ()
        if self.capabilities:
            self.notes = tuple(note for capability in self.capabilities for note in capability.notes(own, self.book))
        self._is_assembled = True

    @cached_property
    def model(self) -> Model:
        """The agent's model."""
        return self.model_for(llm_of(self.agent))

    def model_for(self, llm: object) -> Model:
        """Return a model that works on behalf of this agent."""
        return self.binding.models.get(llm, self.agent, self.task, self.crew)

    def configured_model(self, settings: PlainMapping) -> Model | None:
        """Return the agent's model with further keywords for its requests; None if it takes none."""
        return configured_model_of(llm_of(self.agent), settings, self.agent, self.task, self.crew)

    @property
    def converter(self) -> Model:
        """The model that converts texts into structured output."""
        return self.model if self.converter_model is None else self.converter_model

    def structured_converter(self, structure: type[BaseModel]) -> Model | None:
        """Return the same model, answering with a structure in its own way; None if it has none."""
        return structured_model(self.converter, structure)

    @property
    def converter_llm(self) -> object:
        """The model as passed by the user."""
        llm = self._function_calling_llm
        return llm_of(self.agent) if llm is None else llm

    @property
    def converter_override(self) -> Callable[..., object] | None:
        """The agent's own `get_output_converter`, if its class or a patch overrides it."""
        return override_of(self.agent, "get_output_converter")

    @property
    def converter_model(self) -> Model | None:
        """The model given as `function_calling_llm`, if any."""
        llm = self._function_calling_llm
        return None if llm is None else self.model_for(llm)

    @property
    def _function_calling_llm(self) -> object:
        llm = getattr(self.agent, "function_calling_llm", None)
        return self.crew.function_calling_llm if llm is None and self.crew is not None else llm

    def adapt(self, tool: "EventTool") -> PreparedTool:
        """Return a tool as the capabilities adapt it."""
        for capability in self.capabilities:
            tool = capability.adapt_tool(tool, self.book)
        return tool

    def find_executor(self) -> "Executor | None":
        """Return what does the work in place of the built-in loop, if anything, with the tools that need no loading.

        Raises:
            CompileError: it has a setting that it cannot apply.
        """
        return self._executor(self._as_event_tools((), self.binding.tools))

    def _executor(self, tools: "Mapping[str, EventTool]") -> "Executor | None":
        agent = self.agent
        if not may_have_executor(agent):
            return None
        from crewgraph.compiler.agent.executor import create_executor

        source = create_executor(agent, self.binding.given_tools, self.task)
        adapter = agent.runs_graph
        if source is None and not adapter:
            return None
        where = self.binding.where
        if getattr(agent, "middleware", None):
            raise CompileError(
                f"{where}: its class makes an executor, which replaces the loop that `middleware` is around. Remove one of them."
            )
        _refuse_approvals(tools, where)
        from crewgraph.compiler.agent.executor import Executor

        if source is None:
            from crewgraph.compiler.agent.react_graph import react_graph

            graph = react_graph(self.model, Toolbox(tools), agent.max_iter, self.book, where)
            return Executor(graph, {}, where, agent.role)
        if agent.max_rpm is not None:
            raise CompileError(
                f"{where}: its `max_rpm` cannot limit the requests of its `agent_executor`. Remove it, and give the models of "
                "the executor a LangChain rate limiter."
            )
        return Executor(source, tools, where, agent.role)

    def _with_own_tools(self, tools: "Mapping[str, EventTool]") -> "Mapping[str, EventTool]":
        """Add the tools for its memory, and the one that reads files."""
        if self.memories is not None:
            own = memory_tools(self.memories, self.model, tools, self.book)
            tools = {**tools, **self._as_event_tools(own)}
        reads_files = self.files.tools(self.book) if self.file_records else ()
        return {**tools, **self._as_event_tools(reads_files)} if reads_files else tools

    def _available_files(self, tools: "Mapping[str, EventTool]") -> AvailableFiles:
        if not self.file_records:
            return NO_FILES
        files = extension("files")
        if self.executor is not None:
            return files(records=self.file_records)
        sight = input_modalities(llm_of(self.agent), self.model.name)
        return files(records=self.file_records, sight=sight, tool=slug("read_file", taken=set(tools)))

    def _as_event_tools(
        self, tools: Sequence[Any], bound: Mapping[str, GuardedTool] | None = None
    ) -> "dict[str, EventTool]":
        if not tools and not bound:
            return {}
        agent, crew = self.agent, self.crew
        guarded = {**(bound or {}), **(guarded_tools(tools, {}, self.binding.where) if tools else {})}
        from crewgraph.compiler.agent.cached_tool import with_cache
        from crewgraph.compiler.agent.event_tool import EventTool

        return {
            name: EventTool(with_cache(tool, agent, crew), agent, self.task, crew=crew)
            for name, tool in guarded.items()
        }


def _refuse_approvals(tools: "Mapping[str, EventTool]", where: str) -> None:
    if guarded := [name for name, tool in tools.items() if tool.require_approval]:
        raise CompileError(
            f"{where}: its executor calls tools by itself, so a person could not approve the calls of "
            f"`{'`, `'.join(guarded)}` (`require_approval`). Remove the executor, or let the tool ask with LangGraph's "
            "`interrupt`."
        )
