"""What definitions may ask for and the compiler cannot translate: refused loudly, never ignored."""

from collections.abc import Callable, Iterator
from typing import Any

from crewgraph.compiler.unoffered import refuse_unoffered
from crewgraph.definitions.agent import Agent, BaseAgent
from crewgraph.definitions.crew import Crew
from crewgraph.errors import CompileError

__all__ = ["refuse_unready", "refuse_unready_agent", "refused_keywords"]

_Rule = tuple[str, Callable[[Any], bool]]

_AGENT: tuple[_Rule, ...] = (("from_repository", lambda agent: agent.from_repository is not None),)


def refuse_unready(crew: Crew) -> None:
    """Refuse what this version cannot translate.

    Raises:
        CompileError: all of it, by name.
    """
    found: list[str] = []
    for agent in dict.fromkeys([*crew.agents, *(task.agent for task in crew.tasks if task.agent is not None)]):
        found += _asked_of(agent)
    _refuse(found)


def refuse_unready_agent(agent: BaseAgent) -> None:
    """Refuse what this version cannot translate of an agent on its own.

    Raises:
        CompileError: all of it, by name.
    """
    _refuse([*_asked_of(agent)])


def refused_keywords() -> dict[str, tuple[str, ...]]:
    """The keywords that are refused, by the class that takes them."""
    return {"Agent": tuple(name for name, _ in _AGENT)}


def _asked_of(agent: BaseAgent) -> Iterator[str]:
    refuse_unoffered(agent)
    return _asked(f"agent `{agent.role}`", agent, _AGENT if isinstance(agent, Agent) else ())


def _refuse(found: list[str]) -> None:
    if found:
        raise CompileError(
            f"crewgraph does not offer {', '.join(found)}: agents of CrewAI's hosted repository are read there alone. Give the "
            "agent its role, goal and backstory here; it is refused rather than ignored."
        )


def _asked(where: str, definition: object, rules: tuple[_Rule, ...]) -> Iterator[str]:
    return (f"`{name}` of {where}" for name, asks in rules if asks(definition))
