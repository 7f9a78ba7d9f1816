"""Whether agents have what they need for their work, looked at before anything is done.

What agents may ask for and are never given: refused with the reason, and with what there is instead.

What definitions may ask for and the compiler cannot translate: refused loudly, never ignored.

What definitions may ask for and has no effect here: accepted, so that programs run, and told once in a process.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from crewgraph.compiler.agent.binding import AgentBinding
from crewgraph.compiler.agent.capabilities import capabilities_of
from crewgraph.compiler.agent.events import AgentReport
from crewgraph.compiler.agent.executor import create_executor
from crewgraph.compiler.agent.runner import AgentRunner
from crewgraph.core.protocols import Model
from crewgraph.definitions.agent.adapters import LangGraphAgentAdapter
from crewgraph.definitions.agent.agent import Agent, BaseAgent
from crewgraph.definitions.agent.delegation_tools import CoworkerTool
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.crew.process import Process
from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import CompileError
from crewgraph.llm.resolve import as_model
from crewgraph.llm.usage import UsageLedger
from crewgraph.overrides import override_of

__all__ = [
    "WithoutEffect",
    "check_agent",
    "check_coworkers",
    "check_crew",
    "check_ready",
    "check_supported",
    "refused_keywords",
    "warn_without_effect",
]


def check_ready(engagement: AgentBinding) -> Model | None:
    """Look, before anything is done, whether an agent can work.

    Returns:
        Its model, if it needs one: who keeps it spares every task to make it anew.

    Raises:
        CompileError: its executor cannot be called, or not be given what there is to give.
        ModelError: it needs a model and has none.
    """
    agent = engagement.agent
    if override_of(agent, "execute_task") or override_of(agent, "aexecute_task"):
        return None  # which may do without
    work = AgentRunner(engagement, agent.written("role"), AgentReport(engagement, None), UsageLedger(), engagement.book)
    return as_model(agent.llm) if work.executor is None else None


def check_coworkers(engagements: Sequence[AgentBinding]) -> None:
    """Look, before anything is done, whether those whom agents may hand work to have the models that they need.

    Raises:
        ModelError: one needs a model and has none.
    """
    sources = [tool.tool.source for one in engagements for tool in one.tools.values()]
    asked = [agent for source in sources if isinstance(source, CoworkerTool) for agent in source.agents]
    for agent in {id(agent): agent for agent in asked}.values():
        own = override_of(agent, "execute_task") or override_of(agent, "aexecute_task")
        if own is None and (create_executor(agent) is None or isinstance(agent, LangGraphAgentAdapter)):
            as_model(agent.llm)


def check_supported(agent: BaseAgent) -> None:
    """Refuse what an agent cannot have.

    Raises:
        CompileError: hosted applications, an MCP server that cannot be found, or a remote agent that does not speak JSON-RPC.
    """
    if agent.apps and override_of(agent, "get_platform_tools") is None:
        agent.get_platform_tools(agent.apps)  # says why there are none
    for capability in capabilities_of(agent):
        capability.check()


_Rule = tuple[str, Callable[[Any], bool]]

_AGENT: tuple[_Rule, ...] = (("from_repository", lambda agent: agent.from_repository is not None),)


def check_crew(crew: Crew) -> None:
    """Refuse what this version cannot translate.

    Raises:
        CompileError: all of it, by name.
    """
    found: list[str] = []
    for agent in dict.fromkeys([*crew.agents, *(task.agent for task in crew.tasks if task.agent is not None)]):
        found += _asked_of(agent)
    _refuse(found)


def check_agent(agent: BaseAgent) -> None:
    """Refuse what this version cannot translate of an agent on its own.

    Raises:
        CompileError: all of it, by name.
    """
    _refuse([*_asked_of(agent)])


def refused_keywords() -> dict[str, tuple[str, ...]]:
    """The keywords that are refused, by the class that takes them."""
    return {"Agent": tuple(name for name, _ in _AGENT)}


def _asked_of(agent: BaseAgent) -> Iterator[str]:
    check_supported(agent)
    return _asked(f"agent `{agent.role}`", agent, _AGENT if isinstance(agent, Agent) else ())


def _refuse(found: list[str]) -> None:
    if found:
        raise CompileError(
            f"crewgraph does not offer {', '.join(found)}: agents of CrewAI's hosted repository are read there alone. Give the "
            "agent its role, goal and backstory here; it is refused rather than ignored."
        )


def _asked(where: str, definition: object, rules: tuple[_Rule, ...]) -> Iterator[str]:
    return (f"`{name}` of {where}" for name, asks in rules if asks(definition))


_IdleRule = tuple[str, Callable[[Any], bool], str]

_RECORD = "what a run knows of itself stands in its checkpoints"
_SENT = "nothing is sent to anybody"
_KNOWS = "it is for knowledge, of which there is none"

_CREW: tuple[_IdleRule, ...] = (
    ("share_crew", lambda crew: bool(crew.share_crew), _SENT),
    ("tracing", lambda crew: bool(crew.tracing), "runs are traced by LangSmith, where LANGSMITH_TRACING says so"),
    (
        "task_execution_output_json_files",
        lambda crew: bool(crew.task_execution_output_json_files),
        "outputs are in checkpoints, and in the files that `output_file` and `output_log_file` name",
    ),
    ("execution_context", lambda crew: crew.execution_context is not None, _RECORD),
    (
        "embedder",
        lambda crew: crew.embedder is not None and not _remembers(crew) and not any(map(_knows, [crew, *crew.agents])),
        "it is for memory and knowledge, of which the crew has none",
    ),
    (
        "manager_llm",
        lambda crew: crew.manager_llm is not None and crew.process is Process.sequential,
        "a sequential crew has no manager",
    ),
    (
        "manager_agent",
        lambda crew: crew.manager_agent is not None and crew.process is Process.sequential,
        "a sequential crew has no manager",
    ),
)

_IDLE_AGENT: tuple[_IdleRule, ...] = (
    ("embedder", lambda agent: getattr(agent, "embedder", None) is not None and not _knows(agent), _KNOWS),
    ("knowledge_storage", lambda agent: agent.knowledge_storage is not None and not _knows(agent), _KNOWS),
    ("max_tokens", lambda agent: agent.max_tokens is not None, "give it to the model: `LLM(..., max_tokens=...)`"),
    ("execution_context", lambda agent: getattr(agent, "execution_context", None) is not None, _RECORD),
    (
        "use_better_compaction",
        lambda agent: not getattr(agent, "use_better_compaction", True),
        "conversations that are too long are condensed in one way",
    ),
    ("callbacks", lambda agent: bool(agent.callbacks), "give `step_callback`, or a `callback` to the task"),
    (
        "code_execution_mode",
        lambda agent: getattr(agent, "code_execution_mode", "safe") != "safe" and not agent.allow_code_execution,
        "it runs no code",
    ),
)

_OF_KNOWLEDGE: tuple[_IdleRule, ...] = (
    ("knowledge_config", lambda agent: agent.knowledge_config is not None and not _knows(agent), _KNOWS),
)
"""Rules for the agents of crews that know nothing."""

_told: set[tuple[str, str]] = set()


class WithoutEffect(UserWarning):
    """A definition asks for something that has no effect here."""


def warn_without_effect(crew: Crew) -> None:
    """Warn of what has no effect, of each field once in a process."""
    found = _new("Crew", crew, _CREW)
    for agent in dict.fromkeys([*crew.agents, *(task.agent for task in crew.tasks if task.agent is not None)]):
        found += _new("Agent", agent, _IDLE_AGENT if _knows(crew) else (*_IDLE_AGENT, *_OF_KNOWLEDGE))
    if found:
        warnings.warn(f"accepted, but without effect: {'; '.join(found)}", WithoutEffect, stacklevel=user_stacklevel())


def _remembers(crew: Crew) -> bool:
    return bool(crew.memory or crew.contextual_memory)


def _knows(definition: Any) -> bool:
    return definition.knowledge is not None or bool(definition.knowledge_sources)


def _new(owner: str, definition: object, rules: tuple[_IdleRule, ...]) -> list[str]:
    found: list[str] = []
    for name, asks, reason in rules:
        if (owner, name) not in _told and asks(definition):
            _told.add((owner, name))
            found.append(f"`{name}` of `{owner}` ({reason})")
    return found
