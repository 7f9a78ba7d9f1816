"""Agents bound to their tools, for the messages of a kickoff or (as a `TaskBinding`) for a task; and what else an agent has."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

from crewgraph.compiler.agent.capabilities import Capability, MCPServers
from crewgraph.compiler.agent.memory_calls import Memories
from crewgraph.compiler.agent.models import ModelCache
from crewgraph.compiler.crew.state import INPUTS
from crewgraph.core.current import CURRENT, RunResources
from crewgraph.core.journal import JournalError
from crewgraph.core.operations import Program, blocking
from crewgraph.definitions.agent.agent import AgentDefinition, BaseAgentDefinition
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.task.task import TaskDefinition
from crewgraph.deprecations import user_stacklevel
from crewgraph.extensions import extension
from crewgraph.llm.capabilities import input_modalities
from crewgraph.overrides import override_of
from crewgraph.prompts.i18n import Book
from crewgraph.scoped import scoped
from crewgraph.text import slug
from crewgraph.tools.adapt import as_tool
from crewgraph.tools.injected import InjectionFailed
from crewgraph.tools.use import GuardedTool

_PASSING = (InjectionFailed, JournalError)
"""What ends the task where a tool raises it: no model can do anything about it."""


@dataclass(frozen=True, kw_only=True)
class AgentBinding:
    """An agent with its tools."""

    crew: CrewDefinition | None
    """The crew; None where the agent works on its own."""

    agent: BaseAgentDefinition
    slug: str
    """The name of its node and channel."""

    tools: Mapping[str, GuardedTool]
    """The tools by the names models use."""

    given_tools: Sequence[object]
    """The tools as passed by the user."""

    models: ModelCache = field(default_factory=ModelCache, compare=False, repr=False)
    """The models of earlier runs."""

    @property
    def seconds(self) -> int | float | None:
        """The time limit of its work."""
        return self.agent.max_execution_time if isinstance(self.agent, AgentDefinition) else None

    @property
    def book(self) -> Book:
        """The prompts: the agent's own, else the crew's."""
        return self.agent.wording(self.crew)

    @property
    def where(self) -> str:
        """The name used in messages."""
        return self.where_as(self.agent.written("role"))

    def where_as(self, role: str) -> str:
        """The name used in messages of a run in which the agent has this role, with the placeholders filled."""
        return self.agent.called_as(role)


def bind_agent(agent: BaseAgentDefinition) -> AgentBinding:
    """Bind an agent that works on its own."""
    user_tools = [*(agent.tools or []), *granted_tools(agent, ())]
    return AgentBinding(
        crew=None,
        agent=agent,
        slug=slug(agent.written("role"), taken={INPUTS}),
        given_tools=user_tools,
        tools=guarded_tools([*user_tools, *capability_tools(agent, user_tools, None)], {}, agent.called),
    )


def granted_tools(agent: BaseAgentDefinition, coworkers: Sequence[BaseAgentDefinition]) -> list[Any]:
    """Return the tools for delegation, and those an agent's class returns for applications and MCP servers.

    Args:
        agent: the agent.
        coworkers: the agents it may delegate to.
    """
    sources = (
        ("get_platform_tools", agent.apps),
        ("get_mcp_tools", agent.mcps),
    )
    granted = list(agent.get_delegation_tools(coworkers)) if coworkers else []
    for method, setting in sources:
        override = override_of(agent, method) if setting else None
        if override is not None:
            granted += override(setting)
        elif setting and method == "get_mcp_tools":
            from crewgraph.tools.mcp.tool import overriding_resolver

            resolvers = [overriding_resolver(item, agent) for item in setting]
            granted += [tool for resolver in resolvers if resolver is not None for tool in resolver()]
    return granted


def capability_tools(
    agent: BaseAgentDefinition,
    user_tools: Sequence[object],
    crew: CrewDefinition | None,
    task: TaskDefinition | None = None,
) -> list[object]:
    """Return the tools of an agent's settings and capabilities.

    Args:
        agent: the agent.
        user_tools: its other tools.
        crew: the crew.
        task: the task.
    """
    tools: list[object] = []
    if isinstance(agent, AgentDefinition):
        tools += (
            agent.get_multimodal_tools()
            if agent.multimodal and "image" not in input_modalities([agent.llm], "")
            else []
        )
        if agent.allow_code_execution:
            from crewgraph.tools.code import is_code_interpreter

            if not any(map(is_code_interpreter, user_tools)):
                tools += agent.get_code_execution_tools()
    tools = [tool for tool in tools if not any(isinstance(other, type(tool)) for other in user_tools)]
    for capability in capabilities_of(agent, crew, task):
        tools += capability.tools([*user_tools, *tools])
    return tools


def guarded_tools(sources: Sequence[object], adapted: dict[int, GuardedTool], where: str) -> dict[str, GuardedTool]:
    """Wrap tools and index them by name, numbering duplicates; each tool is adapted once, as that is slow.

    Args:
        sources: the tools.
        adapted: the tools adapted so far, by their ids; new ones are added.
        where: whose tools these are, for messages.
    """
    tools: dict[str, GuardedTool] = {}
    for source in sources:
        if id(source) not in adapted:
            adapted[id(source)] = GuardedTool(as_tool(source), passing=_PASSING)
        tool = adapted[id(source)]
        if tools.get(tool.name, tool) is not tool:
            tool = _numbered_tool(tool, tools, where)
        tools[tool.name] = tool
    return tools


def _numbered_tool(tool: GuardedTool, tools: Mapping[str, GuardedTool], where: str) -> GuardedTool:
    """Give a tool a numbered name, as another one has the same name."""
    name = next(name for n in count(2) if (name := f"{tool.name}_{n}") not in tools)
    warnings.warn(
        f"{where} has two tools that a model would call `{tool.name}`; `{tool.tool.title}` is offered as `{name}`. "
        "Rename one of them, so that the model knows which is which.",
        stacklevel=user_stacklevel(),
    )
    return GuardedTool(tool.tool.named(name), passing=_PASSING)


def may_have_executor(agent: BaseAgentDefinition) -> bool:
    """Return whether anything but the built-in loop may do an agent's work; `create_executor` creates it."""
    return (
        agent.agent_executor is not None
        or getattr(agent, "executor_class", None) is not None
        or override_of(agent, "create_agent_executor") is not None
    )


def check_external_resources(bindings: Sequence[AgentBinding], opened: RunResources) -> Program[None]:
    """Check external resources before a run does anything; connections it opens stay open for the run.

    Args:
        bindings: the agents and their tools; the coworkers they may delegate to are checked, too.
        opened: holds the connections that are opened.

    Raises:
        CompileError: a coworker's code is to run on this machine.
        MCPServerError: a server cannot be reached, or lacks a tool that was named.
        RemoteAgentError: a remote agent cannot be reached.
        ToolFailed: code cannot be run here.
    """
    sources = [tool.tool.source for binding in bindings for tool in binding.tools.values()]
    from crewgraph.definitions.agent.delegation_tools import CoworkerTool

    coworkers = [agent for source in sources if isinstance(source, CoworkerTool) for agent in source.agents]
    agents = {id(agent): agent for agent in (*(binding.agent for binding in bindings), *coworkers)}
    for agent in coworkers:
        sources += capability_tools(agent, agent.tools or (), None)
    from crewgraph.tools.code import CodeInterpreterTool

    images = {source.image: source for source in sources if isinstance(source, CodeInterpreterTool)}
    capabilities = [capability for agent in agents.values() for capability in capabilities_of(agent)]

    def check() -> None:
        for tool in images.values():
            tool.check()
        with scoped(CURRENT, CURRENT.get()._replace(resources=opened)):
            for capability in capabilities:
                capability.check_available()

    if images or any(capability.fetches_tools for capability in capabilities):
        yield blocking(check)


def has_knowledge(agent: BaseAgentDefinition, crew: CrewDefinition | None) -> bool:
    """Return whether an agent or its crew may have knowledge; `knowledge_of` says which."""
    return bool(
        agent.knowledge is not None
        or agent.knowledge_sources
        or type(agent).set_knowledge is not BaseAgentDefinition.set_knowledge
        or (crew is not None and (crew.knowledge is not None or crew.knowledge_sources))
        or (crew is not None and type(crew).create_crew_knowledge is not CrewDefinition.create_crew_knowledge)
    )


_EXTENSIONS: Final = ("a2a", "skills")
"""Fields of agents and crews; an extension of the same name implements each as a `Capability`."""


def capabilities_of(
    agent: BaseAgentDefinition, crew: CrewDefinition | None = None, task: TaskDefinition | None = None
) -> tuple[Capability, ...]:
    """Return the capabilities of an agent, including those of its crew."""
    if not (agent.mcps or agent.a2a or agent.skills or (crew is not None and crew.skills)):
        return ()
    extensions = [extension(name) for name in _EXTENSIONS if getattr(agent, name, None) or getattr(crew, name, None)]
    kinds: list[type[Capability]] = [MCPServers, *extensions] if agent.mcps else extensions
    return tuple(kind(agent, crew, task) for kind in kinds)


def fetches_tools(agent: BaseAgentDefinition) -> bool:
    """Return whether an agent gets tools when its work starts."""
    return any(capability.fetches_tools for capability in capabilities_of(agent))


def capabilities_key(agent: BaseAgentDefinition | None, crew: CrewDefinition) -> tuple[object, ...]:
    """Return a key that changes with the capabilities of an agent and its crew."""
    if agent is None:
        return ()
    return (bool(agent.a2a), *map(id, [*(agent.skills or ()), *(crew.skills or ())]))


def memories_of(agent: BaseAgentDefinition, crew: CrewDefinition | None) -> Memories | None:
    """Return the memories of an agent that works for a crew, or on its own; None if it has none.

    An agent whose `memory` is False has none.
    """
    if agent.memory is False:
        return None
    if agent.memory is not None and agent.memory is not True:
        return Memories(unified=agent.memory)
    memories = None if crew is None else crew_memories(crew)
    if memories is not None or not agent.memory:
        return memories
    return Memories(unified=agent.resolve_memory().memory)


def crew_memories(crew: CrewDefinition) -> Memories | None:
    """Return the memories of a crew; None if it has none."""
    unified = None if isinstance(crew.memory, bool) else crew.memory
    configured = (crew.long_term_memory, crew.short_term_memory, crew.entity_memory, crew.external_memory, unified)
    if configured == _NONE:
        return None
    memories = Memories(
        long_term=crew.active_memory("long_term_memory"),
        short_term=crew.active_memory("short_term_memory"),
        entity=crew.active_memory("entity_memory"),
        external=crew.active_memory("external_memory"),
        unified=unified,
    )
    return memories if memories else None


_NONE = (None,) * 5


def check_memories(crew: CrewDefinition) -> None:
    """Check the embedders of a crew's memories without embedding anything.

    Raises:
        EmbedderError: an embedder is missing or misconfigured.
        MissingExtra: its provider needs a package that is not installed.
    """
    memories = crew_memories(crew)
    from crewgraph.memory.storage import RAGStorage

    for memory in memories.kinds.values() if memories is not None else ():
        storage = getattr(memory, "storage", None)
        if isinstance(storage, RAGStorage):
            _ = storage.embedder
