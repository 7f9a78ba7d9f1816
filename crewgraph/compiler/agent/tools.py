"""What an agent has at hand for its work in one run: its models, and its tools.

The tools for an agent's memory, which it is offered without being given them.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

from crewgraph.compiler.agent.binding import AgentBinding, guarded_tools
from crewgraph.compiler.agent.cached_tool import with_cache
from crewgraph.compiler.agent.capabilities import Capability, capabilities_of
from crewgraph.compiler.agent.event_tool import EventTool
from crewgraph.compiler.agent.executor import Executor, create_executor
from crewgraph.compiler.agent.external_tools import load_external_tools
from crewgraph.compiler.agent.files import NO_FILES, FilesAtHand
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


def memory_tools(memories: Memories, model: Model, taken: Collection[str], book: Book) -> list[Any]:
    """The tools for a memory for everything; none under a name that another tool has.

    Models without native tool calls get none: in the text protocol every tool makes the prompt of each task longer.

    Args:
        memories: what the agent has.
        model: who would use them.
        taken: the names of its other tools.
        book: the wording.
    """
    if not isinstance(memories.unified, MemoryReads) or not model.native_tools:
        return []
    return [tool for tool in create_memory_tools(memories.unified, book) if tool.spec["name"] not in taken]


class AgentResources:
    """Models and tools of an agent in one run.

    Args:
        engagement: who, with which tools.
        book: the wording.
        task: what it works on; None where it answers messages.
        files: of the run, by name.
    """

    def __init__(
        self, engagement: AgentBinding, book: Book, task: Task | None, files: Mapping[str, FileRecord] | None = None
    ) -> None:
        self._given_files = files or {}
        self._engagement, self._agent, self._about, self._book = engagement, engagement.agent, task, book
        self._fetched: list[Any] | None = None

    def equipped(self) -> Body[None]:
        """Look for what it needs from outside, before anything else: the tools of its MCP servers, a place to run code in.

        Raises:
            MCPServerError: a server is not there, or has not the tool that is meant.
            RemoteAgentError: a remote agent is not there.
            ToolFailed: code is to be run, and there is no place for it.
        """
        if self._fetched is None:
            known = self._engagement.tools
            sources = [tool.tool.source for tool in known.values()]
            self._fetched = yield from load_external_tools(self.capabilities, sources, known, self._book)
            yield from self._with_files_of_task()

    def _with_files_of_task(self) -> Body[None]:
        """Note which files its task brings along, as they are now."""
        own = {} if self._about is None else self._about.input_files
        if own:
            told: dict[str, FileRecord] = yield Call(
                function=extension("files.record"),
                args=(own,),
                name="input_files",
                kind="the files",
                about=sorted(own),
            )
            self._given_files = {**self._given_files, **told}

    @cached_property
    def capabilities(self) -> tuple[Capability, ...]:
        """What its MCP servers, remote agents and skills add to it."""
        return capabilities_of(self._agent, self._engagement.crew, self._about)

    @property
    def given_tools(self) -> list[Any]:
        """What it may use, as objects: those that the user gave, and those of its MCP servers."""
        return [*self._engagement.given_tools, *(self._fetched or ())]

    @cached_property
    def model(self) -> Model:
        """Its model."""
        return self.asked(self._agent.llm)

    def asked(self, llm: Any) -> Model:
        """Another model, at work for this agent."""
        return model_of(llm, self._agent, self._about, self._engagement.crew)

    @cached_property
    def converter(self) -> Model:
        """The model that gives texts a structure."""
        return self.model if self._reader is None else self._reader

    @property
    def converter_llm(self) -> Any:
        """The same, as the user gave it."""
        special = self._special_llm
        return self._agent.llm if special is None else special

    @property
    def own_converter(self) -> Callable[..., Any] | None:
        """What the agent's class, or a patch, gives texts a structure with."""
        return override_of(self._agent, "get_output_converter")

    @cached_property
    def _reader(self) -> Model | None:
        """The model for reading arguments and structures, where there is a special one."""
        special = self._special_llm
        return None if special is None else self.asked(special)

    @property
    def _special_llm(self) -> Any:
        special, crew = getattr(self._agent, "function_calling_llm", None), self._engagement.crew
        return crew.function_calling_llm if special is None and crew is not None else special

    @cached_property
    def executor(self) -> Executor | None:
        """What carries out its work in the place of the loop."""
        agent, where = self._agent, self._engagement.where
        made = create_executor(agent, self._engagement.given_tools, self._about)
        if made is not None or isinstance(agent, LangGraphAgentAdapter):
            self._refuse_approvals(where)
        if made is None and isinstance(agent, LangGraphAgentAdapter):
            graph = react_graph(self.model, Toolbox(self._observed), agent.max_iter, self._book, where)
            return Executor(graph, {}, where, agent.role)
        if made is not None and agent.max_rpm is not None:
            raise CompileError(
                f"{where}: its `max_rpm` cannot bound the requests that its `agent_executor` makes. Leave it out, and give a "
                "LangChain rate limiter to the models in it."
            )
        return None if made is None else Executor(made, self._observed, where, agent.role)

    def _refuse_approvals(self, where: str) -> None:
        if guarded := [name for name, tool in self._observed.items() if tool.require_approval]:
            raise CompileError(
                f"{where}: what carries out its work calls its tools by itself, so nobody could be asked whether it may use "
                f"`{'`, `'.join(guarded)}` (`require_approval`). Leave the executor out, or let the tool ask with LangGraph's "
                "`interrupt`."
            )

    @cached_property
    def tools(self) -> Toolbox:
        """What it may use in the loop; an executor is given them in its own way."""
        return Toolbox(self._in_hand if self.executor is None else {})

    @cached_property
    def _in_hand(self) -> Mapping[str, PreparedTool]:
        """Its tools as the loop uses them."""
        return {name: self._adapted(tool) for name, tool in self._offered.items()}

    def _adapted(self, tool: EventTool) -> PreparedTool:
        for capability in self.capabilities:
            tool = capability.adapted(tool, self._book)
        return tool

    @cached_property
    def _offered(self) -> dict[str, EventTool]:
        """Its tools, those for its memory, and one that reads files."""
        found = self._observed
        if self.memories:
            found = found | self._seen(memory_tools(self.memories, self.model, found, self._book))
        reads_files = self.files.tools(self._book)
        return found | self._seen(reads_files) if reads_files else found

    @cached_property
    def memories(self) -> Memories:
        """What it remembers with."""
        return memories_of(self._agent, self._engagement.crew)

    @cached_property
    def files(self) -> FilesAtHand:
        """The files at hand, and what of them its model is shown."""
        if not self._given_files:
            return NO_FILES
        files = extension("files")
        if self.executor is not None:
            return files(records=self._given_files)
        sight = input_modalities(self._agent.llm, self.model.name)
        return files(records=self._given_files, sight=sight, tool=slug("read_file", taken=set(self._observed)))

    @cached_property
    def _observed(self) -> dict[str, EventTool]:
        return self._seen(self._fetched or (), self._engagement.tools)

    def _seen(self, tools: Sequence[Any], known: Mapping[str, GuardedTool] | None = None) -> dict[str, EventTool]:
        agent, crew = self._agent, self._engagement.crew
        named = {**(known or {}), **(guarded_tools(tools, {}, self._engagement.where) if tools else {})}
        return {
            name: EventTool(with_cache(tool, agent, crew), agent, self._about, crew=crew)
            for name, tool in named.items()
        }
