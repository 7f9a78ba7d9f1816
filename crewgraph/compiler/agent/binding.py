"""An agent with what it may use: for the messages of a kickoff, or (as an `Assignment`) for a task."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from crewgraph.compiler.agent.capabilities import capabilities_of
from crewgraph.compiler.crew.state import INPUTS
from crewgraph.core.journal import JournalError
from crewgraph.definitions.agent.agent import Agent, BaseAgent
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.task.task import Task
from crewgraph.deprecations import user_stacklevel
from crewgraph.overrides import override_of
from crewgraph.prompts.book import Book
from crewgraph.text import slug
from crewgraph.tools.adapt import as_tool
from crewgraph.tools.code import is_code_interpreter
from crewgraph.tools.mcp.tool import overriding_resolver
from crewgraph.tools.use import GuardedTool

__all__ = ["AgentBinding", "bind_agent", "granted_tools", "guarded_tools", "own_tools"]


@dataclass(frozen=True, kw_only=True)
class AgentBinding:
    """An agent with what it may use."""

    crew: Crew | None
    """The crew it works for; None where it works on its own."""

    agent: BaseAgent
    slug: str
    """The name of its node and of its channel."""

    tools: Mapping[str, GuardedTool]
    """What it may use, by the names models call them by."""

    given_tools: Sequence[Any]
    """The same as the user gave them."""

    @property
    def seconds(self) -> int | float | None:
        """How long its work may take."""
        return self.agent.max_execution_time if isinstance(self.agent, Agent) else None

    @property
    def book(self) -> Book:
        """The wording of its prompts: the agent's own, else the crew's."""
        return self.agent.wording(self.crew)

    @property
    def where(self) -> str:
        """What it is called in messages."""
        return f"agent `{' '.join(self.agent.written('role').split())}`"


def bind_agent(agent: BaseAgent) -> AgentBinding:
    """An agent on its own."""
    given = [*(agent.tools or []), *granted_tools(agent, ())]
    where = f"agent `{' '.join(agent.written('role').split())}`"
    return AgentBinding(
        crew=None,
        agent=agent,
        slug=slug(agent.written("role"), taken={INPUTS}),
        given_tools=given,
        tools=guarded_tools([*given, *own_tools(agent, given, None)], {}, where),
    )


def granted_tools(agent: BaseAgent, others: Sequence[BaseAgent]) -> list[Any]:
    """The tools for working with others; and those that an agent's class gives it for applications and MCP servers.

    Args:
        agent: who is given them.
        others: to whom it may hand work.
    """
    asked = (
        ("get_platform_tools", agent.apps),
        ("get_mcp_tools", agent.mcps),
    )
    granted: list[Any] = list(agent.get_delegation_tools(others)) if others else []
    for method, wanted in asked:
        own = override_of(agent, method) if wanted else None
        if own is not None:
            granted += own(wanted)
        elif wanted and method == "get_mcp_tools":
            ways = [overriding_resolver(one, agent) for one in wanted]
            granted += [tool for way in ways if way is not None for tool in way()]
    return granted


def own_tools(agent: BaseAgent, given: Sequence[Any], crew: Crew | None, task: Task | None = None) -> list[Any]:
    """The tools that come with what the agent can do.

    Args:
        agent: whose.
        given: its other tools.
        crew: for whom it works.
        task: on what.
    """
    tools: list[Any] = []
    if isinstance(agent, Agent):
        tools += agent.get_multimodal_tools() if agent.multimodal else []
        if agent.allow_code_execution and not any(map(is_code_interpreter, given)):
            tools += agent.get_code_execution_tools()
    tools = [tool for tool in tools if not any(isinstance(one, type(tool)) for one in given)]
    for capability in capabilities_of(agent, crew, task):
        tools += capability.tools([*given, *tools])
    return tools


def guarded_tools(given: Sequence[Any], adapted: dict[int, GuardedTool], where: str) -> dict[str, GuardedTool]:
    """Tools by name; one whose name is taken gets a number. Each is read once, for that takes longer than a task.

    Args:
        given: the tools.
        adapted: those that were read before, by their ids; is added to.
        where: whose they are, for messages.
    """
    tools: dict[str, GuardedTool] = {}
    for one in given:
        if id(one) not in adapted:
            adapted[id(one)] = GuardedTool(as_tool(one), passing=(JournalError,))
        tool = adapted[id(one)]
        if tools.get(tool.name, tool) is not tool:
            tool = _numbered(tool, tools, where)
        tools[tool.name] = tool
    return tools


def _numbered(tool: GuardedTool, taken: Mapping[str, GuardedTool], where: str) -> GuardedTool:
    """The tool under a name of its own, beside another one of the same name."""
    name = next(name for n in count(2) if (name := f"{tool.name}_{n}") not in taken)
    warnings.warn(
        f"{where} has two tools that a model would call `{tool.name}`; `{tool.tool.title}` is offered as `{name}`. "
        "Rename one of them, so that the model knows which is which.",
        stacklevel=user_stacklevel(),
    )
    return GuardedTool(tool.tool.named(name), passing=(JournalError,))
