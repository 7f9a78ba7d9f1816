"""The verbs on what a crew remembers."""

import logging
from typing import Any, Self

from crewgraph.definitions.crew_knowledge import CrewKnowledge
from crewgraph.memory.entity import EntityMemory
from crewgraph.memory.external import ExternalMemory
from crewgraph.memory.long_term import LongTermMemory
from crewgraph.memory.short_term import ShortTermMemory, StoredMemory

__all__ = ["CrewMemories"]

_log = logging.getLogger("crewgraph")

_KINDS: dict[str, tuple[str, ...]] = {
    "short_term": ("short_term_memory",),
    "long_term": ("long_term_memory",),
    "entity": ("entity_memory",),
    "external": ("external_memory",),
    "memory": ("memory", "short_term_memory", "long_term_memory", "entity_memory", "external_memory"),
    "knowledge": (),
    "agent_knowledge": (),
    "kickoff_outputs": (),
}
"""What is kept under each name, by the fields of a crew."""

_SHORT = {"short": "short_term", "long": "long_term"}


class CrewMemories(CrewKnowledge):
    """What a crew remembers and knows, and how that is forgotten."""

    @property
    def _short_term_memory(self) -> Any:
        return self.memory_in_use("short_term_memory")

    @property
    def _long_term_memory(self) -> Any:
        return self.memory_in_use("long_term_memory")

    @property
    def _entity_memory(self) -> Any:
        return self.memory_in_use("entity_memory")

    @property
    def _external_memory(self) -> Any:
        return self.memory_in_use("external_memory")

    def memory_in_use(self, field: str) -> Any:
        """The memory of a kind that a run uses; None where there is none, or where it was made and `memory` is off now."""
        memory: Any = getattr(self, field)
        return None if isinstance(memory, StoredMemory) and memory.is_made and not self._remembers else memory

    @property
    def _remembers(self) -> bool:
        return bool(getattr(self, "memory", False)) or bool(getattr(self, "contextual_memory", False))

    def create_crew_memory(self) -> Self:
        """Make the memories that it is to have and was not given, as it does itself when it is made; nothing is opened yet.

        Raises:
            ValueError: `memory_config`, or the `embedder_config` of its external memory, names no provider that there is.
            MissingExtra: the provider needs a package that is not installed.
        """
        made: Any = self
        if self._remembers and isinstance(made.memory, bool):
            if made.short_term_memory is None:
                made.short_term_memory = ShortTermMemory(crew=self, embedder_config=made.embedder).made()
            if made.long_term_memory is None:
                made.long_term_memory = LongTermMemory().made()
            if made.entity_memory is None:
                made.entity_memory = EntityMemory(crew=self, embedder_config=made.embedder).made()
            if made.external_memory is None and made.memory_config:
                made.external_memory = ExternalMemory(embedder_config=made.memory_config).made()
        if isinstance(made.external_memory, ExternalMemory):
            made.external_memory.set_crew(self)
        return self

    def reset_memories(self, command_type: str) -> None:
        """Forget what was remembered; what there is none of is told.

        What the agents were taught stays, and so do the runs that are kept: `runs` lists them.

        Args:
            command_type: which memory: "short_term" (or "short"), "long_term" (or "long"), "entity", "external", "memory" (all
                of these), "knowledge", "agent_knowledge", "kickoff_outputs", or "all".

        Raises:
            ValueError: there is no memory of that name.
        """
        found = self.kept_under(command_type)
        for one in found:
            one.reset()
        if not found:
            _log.warning("the crew has no memory `%s` that could be reset", command_type)

    def kept_under(self, command_type: str) -> list[Any]:
        """What `reset_memories` resets for a name: memories, and whatever else has a `reset`.

        Raises:
            ValueError: there is no memory of that name.
        """
        asked = _SHORT.get(command_type, command_type) if isinstance(command_type, str) else command_type  # pyright: ignore[reportUnnecessaryIsInstance]
        if asked != "all" and asked not in _KINDS:
            known = ", ".join(f"`{one}`" for one in (*_SHORT, *_KINDS, "all"))
            raise ValueError(f"there is no memory `{command_type}`; there are {known}")
        kinds = tuple(_KINDS) if asked == "all" else (asked,)
        named = dict.fromkeys(field for kind in kinds for field in _KINDS[kind])
        given = {id(one): one for kind in kinds for one in self.kept_knowledge(kind)}
        given |= {id(one): one for field in named if callable(getattr(one := getattr(self, field), "reset", None))}
        return list(given.values())
