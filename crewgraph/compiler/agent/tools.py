"""The resources of an agent in one run: its models, its tools, its memories and its files."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

from crewgraph.compiler.agent.binding import AgentBinding, guarded_tools
from crewgraph.compiler.agent.cached_tool import with_cache
from crewgraph.compiler.agent.capabilities import Capability, capabilities_of
from crewgraph.compiler.agent.event_tool import EventTool
from crewgraph.compiler.agent.executor import Executor, create_executor
from crewgraph.compiler.agent.external_tools import load_external_tools
from crewgraph.compiler.agent.files import NO_FILES, AvailableFiles
from crewgraph.compiler.agent.memory_calls import Memories, memories_of
from crewgraph.compiler.agent.models import model_of
from crewgraph.compiler.agent.react_graph import react_graph
from crewgraph.compiler.agent.toolbox import PreparedTool, Toolbox
from crewgraph.core.effects import Body, Call
from crewgraph.core.files import FileRecord
from crewgraph.core.protocols import Model
from crewgraph.definitions.agent.adapters import LangGraphAgentAdapter
from crewgraph.definitions.task.task import Task
from crewgraph.errors import CompileError
from crewgraph.extensions import extension
from crewgraph.llm.capabilities import input_modalities
from crewgraph.memory.memory import MemoryReads
from crewgraph.overrides import override_of
from crewgraph.prompts.book import Book
from crewgraph.text import slug
from crewgraph.tools.memory import create_memory_tools
from crewgraph.tools.use import GuardedTool

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
    if not isinstance(memories.unified, MemoryReads) or not model.native_tools:
        return []
    return [tool for tool in create_memory_tools(memories.unified, book) if tool.spec["name"] not in reserved]


class AgentResources:
    """Models, tools, memories and files of an agent in one run.

    Args:
        binding: the agent and its tools.
        book: the prompts.
        task: the task; None for a kickoff with messages.
        files: the files of the run, by name.
    """

    def __init__(
        self, binding: AgentBinding, book: Book, task: Task | None, files: Mapping[str, FileRecord] | None = None
    ) -> None:
        self._file_records = files or {}
        self._binding, self._agent, self._task, self._book = binding, binding.agent, task, book
        self._external_tools: list[object] | None = None

    def load_resources(self) -> Body[None]:
        """Load what the agent needs from outside, once: the tools of its MCP servers, a place to run code, its task's files.

        Raises:
            MCPServerError: a server cannot be reached, or lacks a tool that was named.
            RemoteAgentError: a remote agent cannot be reached.
            ToolFailed: there is no place to run code.
        """
        if self._external_tools is None:
            tools = self._binding.tools
            sources = [tool.tool.source for tool in tools.values()]
            self._external_tools = yield from load_external_tools(self.capabilities, sources, tools, self._book)
            yield from self._add_task_files()

    def _add_task_files(self) -> Body[None]:
        """Record the task's input files as they are now."""
        files = {} if self._task is None else self._task.input_files
        if files:
            records: dict[str, FileRecord] = yield Call(
                function=extension("files.record"),
                args=(files,),
                name="input_files",
                kind="the files",
                about=sorted(files),
            )
            self._file_records = {**self._file_records, **records}

    @cached_property
    def capabilities(self) -> tuple[Capability, ...]:
        """What its MCP servers, remote agents and skills add to it."""
        return capabilities_of(self._agent, self._binding.crew, self._task)

    @property
    def given_tools(self) -> list[object]:
        """Its tools as objects: those the user gave, and those of its MCP servers."""
        return [*self._binding.given_tools, *(self._external_tools or ())]

    @cached_property
    def model(self) -> Model:
        """The agent's model."""
        return self.model_for(self._agent.llm)

    def model_for(self, llm: object) -> Model:
        """Return a model that works on behalf of this agent."""
        return model_of(llm, self._agent, self._task, self._binding.crew)

    @cached_property
    def converter(self) -> Model:
        """The model that converts texts into structured output."""
        return self.model if self._converter_model is None else self._converter_model

    @property
    def converter_llm(self) -> object:
        """The same model, as the user gave it."""
        converter_llm = self._converter_llm
        return self._agent.llm if converter_llm is None else converter_llm

    @property
    def converter_override(self) -> Callable[..., object] | None:
        """The agent's own `get_output_converter`, if its class or a patch overrides it."""
        return override_of(self._agent, "get_output_converter")

    @cached_property
    def _converter_model(self) -> Model | None:
        """The model given as `function_calling_llm`, if any."""
        converter_llm = self._converter_llm
        return None if converter_llm is None else self.model_for(converter_llm)

    @property
    def _converter_llm(self) -> object:
        converter_llm, crew = getattr(self._agent, "function_calling_llm", None), self._binding.crew
        return crew.function_calling_llm if converter_llm is None and crew is not None else converter_llm

    @cached_property
    def executor(self) -> Executor | None:
        """What does the work in place of the built-in loop, if anything."""
        agent, where = self._agent, self._binding.where
        source = create_executor(agent, self._binding.given_tools, self._task)
        if source is not None or isinstance(agent, LangGraphAgentAdapter):
            self._refuse_approvals(where)
        if source is None and isinstance(agent, LangGraphAgentAdapter):
            graph = react_graph(self.model, Toolbox(self._event_tools), agent.max_iter, self._book, where)
            return Executor(graph, {}, where, agent.role)
        if source is not None and agent.max_rpm is not None:
            raise CompileError(
                f"{where}: its `max_rpm` cannot limit the requests of its `agent_executor`. Remove it, and give the models of "
                "the executor a LangChain rate limiter."
            )
        return None if source is None else Executor(source, self._event_tools, where, agent.role)

    def _refuse_approvals(self, where: str) -> None:
        if guarded := [name for name, tool in self._event_tools.items() if tool.require_approval]:
            raise CompileError(
                f"{where}: its executor calls tools by itself, so nobody could approve the calls of "
                f"`{'`, `'.join(guarded)}` (`require_approval`). Remove the executor, or let the tool ask with LangGraph's "
                "`interrupt`."
            )

    @cached_property
    def tools(self) -> Toolbox:
        """The tools for the built-in loop; empty if an executor does the work, which gets the tools in its own way."""
        return Toolbox(self._prepared_tools if self.executor is None else {})

    @cached_property
    def _prepared_tools(self) -> Mapping[str, PreparedTool]:
        """The tools as the loop uses them."""
        return {name: self._adapt(tool) for name, tool in self._available_tools.items()}

    def _adapt(self, tool: EventTool) -> PreparedTool:
        for capability in self.capabilities:
            tool = capability.adapt_tool(tool, self._book)
        return tool

    @cached_property
    def _available_tools(self) -> dict[str, EventTool]:
        """All tools: its own, those for its memory, and the one that reads files."""
        tools = self._event_tools
        if self.memories:
            tools = tools | self._as_event_tools(memory_tools(self.memories, self.model, tools, self._book))
        reads_files = self.files.tools(self._book)
        return tools | self._as_event_tools(reads_files) if reads_files else tools

    @cached_property
    def memories(self) -> Memories:
        """The agent's memories."""
        return memories_of(self._agent, self._binding.crew)

    @cached_property
    def files(self) -> AvailableFiles:
        """The files of the run, and which of them the model is shown."""
        if not self._file_records:
            return NO_FILES
        files = extension("files")
        if self.executor is not None:
            return files(records=self._file_records)
        sight = input_modalities(self._agent.llm, self.model.name)
        return files(records=self._file_records, sight=sight, tool=slug("read_file", taken=set(self._event_tools)))

    @cached_property
    def _event_tools(self) -> dict[str, EventTool]:
        return self._as_event_tools(self._external_tools or (), self._binding.tools)

    def _as_event_tools(
        self, tools: Sequence[Any], bound: Mapping[str, GuardedTool] | None = None
    ) -> dict[str, EventTool]:
        agent, crew = self._agent, self._binding.crew
        guarded = {**(bound or {}), **(guarded_tools(tools, {}, self._binding.where) if tools else {})}
        return {
            name: EventTool(with_cache(tool, agent, crew), agent, self._task, crew=crew)
            for name, tool in guarded.items()
        }
