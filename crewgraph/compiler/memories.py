"""The memories that an agent at work has: its own, else those of its crew."""

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from crewgraph.compiler.training import TRAINING
from crewgraph.definitions.agent import BaseAgent
from crewgraph.definitions.crew import Crew
from crewgraph.memory.storage import RAGStorage

__all__ = ["FORGETTING", "NO_MEMORIES", "Memories", "check_memories", "memories_of"]

FORGETTING: ContextVar[Crew | None] = ContextVar("crewgraph_forgetting", default=None)
"""The crew that remembers nothing in the running code, because it is tested."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Memories:
    """The memories that an agent at work has; those that it has not are None."""

    long_term: Any = None
    short_term: Any = None
    entity: Any = None
    external: Any = None
    unified: Any = None
    """A memory for everything, which stands in the place of the kinds that were made for the crew."""

    def __bool__(self) -> bool:
        return any(
            one is not None for one in (self.long_term, self.short_term, self.entity, self.external, self.unified)
        )

    @property
    def kinds(self) -> dict[str, Any]:
        """Those of a kind that there are, by its name, in the order in which agents are told of them."""
        named = {
            "long_term_memory": self.long_term,
            "short_term_memory": self.short_term,
            "entity_memory": self.entity,
            "external_memory": self.external,
        }
        return {kind: memory for kind, memory in named.items() if memory is not None}


NO_MEMORIES = Memories()


def check_memories(crew: Crew) -> None:
    """Look, before anything is done, whether the embedders of a crew's memories are some; nothing is embedded.

    Raises:
        EmbedderError: one is none, or its configuration is wrong.
        MissingExtra: its provider needs a package that is not installed.
    """
    for memory in _of_crew(crew).kinds.values():
        storage = getattr(memory, "storage", None)
        if isinstance(storage, RAGStorage):
            _ = storage.embedder


def memories_of(agent: BaseAgent, crew: Crew | None) -> Memories:
    """The memories that an agent has when it works for a crew, or on its own.

    None in a training and in a test, which are to leave nothing behind; none where the agent's `memory` is False.
    """
    training = TRAINING.get()
    if agent.memory is False or (crew is not None and (FORGETTING.get() is crew or _trains(training, crew))):
        return NO_MEMORIES
    if agent.memory is not None and agent.memory is not True:
        return Memories(unified=agent.memory)
    found = NO_MEMORIES if crew is None else _of_crew(crew)
    if found or not agent.memory:
        return found
    return Memories(unified=agent.resolve_memory().memory)


def _trains(training: Any, crew: Crew) -> bool:
    return training is not None and training.crew is crew


def _of_crew(crew: Crew) -> Memories:
    unified = None if isinstance(crew.memory, bool) else crew.memory
    return Memories(
        long_term=crew.memory_in_use("long_term_memory"),
        short_term=crew.memory_in_use("short_term_memory"),
        entity=crew.memory_in_use("entity_memory"),
        external=crew.memory_in_use("external_memory"),
        unified=unified,
    )
