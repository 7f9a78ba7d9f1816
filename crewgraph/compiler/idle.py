"""What definitions may ask for and has no effect here: accepted, so that programs run, and told once in a process."""

import warnings
from collections.abc import Callable
from typing import Any

from crewgraph.definitions.crew import Crew
from crewgraph.definitions.process import Process
from crewgraph.deprecations import user_stacklevel

__all__ = ["WithoutEffect", "tell_idle"]

_Rule = tuple[str, Callable[[Any], bool], str]

_RECORD = "what a run knows of itself stands in its checkpoints"
_SENT = "nothing is sent to anybody"
_KNOWS = "it is for knowledge, of which there is none"

_CREW: tuple[_Rule, ...] = (
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

_AGENT: tuple[_Rule, ...] = (
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

_OF_KNOWLEDGE: tuple[_Rule, ...] = (
    ("knowledge_config", lambda agent: agent.knowledge_config is not None and not _knows(agent), _KNOWS),
)
"""Rules for the agents of crews that know nothing."""

_told: set[tuple[str, str]] = set()


class WithoutEffect(UserWarning):
    """A definition asks for something that has no effect here."""


def tell_idle(crew: Crew) -> None:
    """Warn of what has no effect, of each field once in a process."""
    found = _new("Crew", crew, _CREW)
    for agent in dict.fromkeys([*crew.agents, *(task.agent for task in crew.tasks if task.agent is not None)]):
        found += _new("Agent", agent, _AGENT if _knows(crew) else (*_AGENT, *_OF_KNOWLEDGE))
    if found:
        warnings.warn(f"accepted, but without effect: {'; '.join(found)}", WithoutEffect, stacklevel=user_stacklevel())


def _remembers(crew: Crew) -> bool:
    return bool(crew.memory or crew.contextual_memory)


def _knows(definition: Any) -> bool:
    return definition.knowledge is not None or bool(definition.knowledge_sources)


def _new(owner: str, definition: object, rules: tuple[_Rule, ...]) -> list[str]:
    found: list[str] = []
    for name, asks, reason in rules:
        if (owner, name) not in _told and asks(definition):
            _told.add((owner, name))
            found.append(f"`{name}` of `{owner}` ({reason})")
    return found
