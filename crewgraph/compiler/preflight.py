"""Checks of agents and crews before a run: executors and models, unsupported settings, and settings without effect.

Unsupported settings raise. Settings without effect are accepted, so that programs run, with one warning per process.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from crewgraph.compiler.agent.binding import AgentBinding, capabilities_of
from crewgraph.definitions.agent.agent import AgentDefinition, BaseAgentDefinition
from crewgraph.definitions.crew.crew import CrewDefinition, agents_of
from crewgraph.definitions.crew.process import Process
from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import CompileError
from crewgraph.llm.resolve import as_model
from crewgraph.overrides import override_of


def check_coworkers(bindings: Sequence[AgentBinding]) -> None:
    """Check before a run that coworkers who may be delegated to have the models they need.

    Raises:
        ModelError: one needs a model and has none.
    """
    coworkers: list[BaseAgentDefinition] = []
    from crewgraph.definitions.agent.delegation_tools import CoworkerTool

    for binding in bindings:
        for tool in binding.tools.values():
            if isinstance(source := tool.source, CoworkerTool):
                coworkers += source.agents
    from crewgraph.compiler.agent.executor import create_executor

    for agent in {id(agent): agent for agent in coworkers}.values():
        override = override_of(agent, "execute_task") or override_of(agent, "aexecute_task")
        if override is None and create_executor(agent) is None:
            as_model(agent.llm)


def check_supported(agent: BaseAgentDefinition) -> None:
    """Reject what an agent cannot have.

    Raises:
        CompileError: hosted applications, an MCP server that cannot be found, or a remote agent that does not speak JSON-RPC.
    """
    if agent.apps and override_of(agent, "get_platform_tools") is None:
        agent.get_platform_tools(agent.apps)  # raises with the reason
    for capability in capabilities_of(agent):
        capability.check()


_Rule = tuple[str, Callable[[Any], bool]]

_REFUSED_AGENT: tuple[_Rule, ...] = (("from_repository", lambda agent: agent.from_repository is not None),)


def check_crew(crew: CrewDefinition) -> None:
    """Reject unsupported settings of a crew and its agents.

    Raises:
        CompileError: names all of them.
    """
    refused: list[str] = []
    for agent in agents_of(crew):
        refused += _refused_fields(agent)
    _refuse(refused)


def check_agent(agent: BaseAgentDefinition) -> None:
    """Reject unsupported settings of an agent on its own.

    Raises:
        CompileError: names all of them.
    """
    _refuse([*_refused_fields(agent)])


def refused_keywords() -> dict[str, tuple[str, ...]]:
    """Return the unsupported keywords by class."""
    return {"Agent": tuple(name for name, _ in _REFUSED_AGENT)}


def _refused_fields(agent: BaseAgentDefinition) -> Iterator[str]:
    check_supported(agent)
    rules = _REFUSED_AGENT if isinstance(agent, AgentDefinition) else ()
    return (f"`{name}` of {agent.called}" for name, is_used in rules if is_used(agent))


def _refuse(refused: list[str]) -> None:
    if refused:
        raise CompileError(
            f"crewgraph does not offer {', '.join(refused)}: agents of CrewAI's hosted repository can only be loaded by CrewAI. "
            "Give the agent its role, goal and backstory instead."
        )


_IdleRule = tuple[str, Callable[[Any], bool], str]

_IN_CHECKPOINTS = "the record of a run is in its checkpoints"
_NOTHING_SENT = "nothing is sent to anyone"
_NO_KNOWLEDGE = "it applies to knowledge, of which there is none"

_IDLE_CREW: tuple[_IdleRule, ...] = (
    ("share_crew", lambda crew: bool(crew.share_crew), _NOTHING_SENT),
    ("tracing", lambda crew: bool(crew.tracing), "runs are traced by LangSmith if LANGSMITH_TRACING is set"),
    (
        "task_execution_output_json_files",
        lambda crew: bool(crew.task_execution_output_json_files),
        "outputs are in checkpoints, and in the files that `output_file` and `output_log_file` name",
    ),
    ("execution_context", lambda crew: crew.execution_context is not None, _IN_CHECKPOINTS),
    (
        "embedder",
        lambda crew: (
            crew.embedder is not None and not _has_memory(crew) and not any(map(_has_knowledge, [crew, *crew.agents]))
        ),
        "it applies to memory and knowledge, of which the crew has none",
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
    (
        "embedder",
        lambda agent: getattr(agent, "embedder", None) is not None and not _has_knowledge(agent),
        _NO_KNOWLEDGE,
    ),
    (
        "knowledge_storage",
        lambda agent: agent.knowledge_storage is not None and not _has_knowledge(agent),
        _NO_KNOWLEDGE,
    ),
    (
        "guardrail",
        lambda agent: getattr(agent, "guardrail", None) is not None,
        "it judges the answers of `Agent.kickoff`; give the task one",
    ),
    ("max_tokens", lambda agent: agent.max_tokens is not None, "give it to the model: `LLM(..., max_tokens=...)`"),
    ("execution_context", lambda agent: getattr(agent, "execution_context", None) is not None, _IN_CHECKPOINTS),
    ("callbacks", lambda agent: bool(agent.callbacks), "give `step_callback`, or a `callback` to the task"),
    (
        "code_execution_mode",
        lambda agent: getattr(agent, "code_execution_mode", "safe") != "safe" and not agent.allow_code_execution,
        "the agent runs no code",
    ),
)

_IDLE_WITHOUT_KNOWLEDGE: tuple[_IdleRule, ...] = (
    ("knowledge_config", lambda agent: agent.knowledge_config is not None and not _has_knowledge(agent), _NO_KNOWLEDGE),
)
"""Rules for the agents of crews without knowledge."""

_warned: set[tuple[str, str]] = set()


class WithoutEffect(UserWarning):
    """A setting has no effect."""


def warn_without_effect(crew: CrewDefinition) -> None:
    """Warn of settings without effect, once per field and process."""
    fields = _new_fields("Crew", crew, _IDLE_CREW)
    for agent in agents_of(crew):
        fields += _new_fields(
            "Agent", agent, _IDLE_AGENT if _has_knowledge(crew) else (*_IDLE_AGENT, *_IDLE_WITHOUT_KNOWLEDGE)
        )
    if fields:
        warnings.warn(f"accepted, but without effect: {'; '.join(fields)}", WithoutEffect, stacklevel=user_stacklevel())


def _has_memory(crew: CrewDefinition) -> bool:
    return bool(crew.memory or crew.contextual_memory)


def _has_knowledge(definition: Any) -> bool:
    return definition.knowledge is not None or bool(definition.knowledge_sources)


def _new_fields(owner: str, definition: object, rules: tuple[_IdleRule, ...]) -> list[str]:
    fields: list[str] = []
    for name, is_used, reason in rules:
        if (owner, name) not in _warned and is_used(definition):
            _warned.add((owner, name))
            fields.append(f"`{name}` of `{owner}` ({reason})")
    return fields
