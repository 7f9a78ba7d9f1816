"""The methods on the memories and the knowledge of a crew."""

import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self, cast

from crewgraph.definitions.fields import resolve_knowledge
from crewgraph.memory.entity import EntityMemory
from crewgraph.memory.external import ExternalMemory
from crewgraph.memory.long_term import LongTermMemory
from crewgraph.memory.short_term import ShortTermMemory, StoredMemory

if TYPE_CHECKING:
    from crewgraph.definitions.crew.crew import Crew
    from crewgraph.knowledge.passage import SearchResult

__all__ = ["CrewKnowledge", "CrewMemories"]


_COLLECTION = "crew"


class CrewKnowledge:
    """What a crew knows."""

    def create_crew_knowledge(self) -> Self:
        """Make `knowledge` of `knowledge_sources`, where it was not given; nothing is read yet."""
        crew = cast("Crew", self)
        made = resolve_knowledge(crew.knowledge, crew.knowledge_sources, _COLLECTION, None, crew.embedder)
        if made is not crew.knowledge:
            crew.knowledge = made
        return self

    def query_knowledge(
        self, query: Sequence[str], results_limit: int = 3, score_threshold: float = 0.35
    ) -> "list[SearchResult] | None":
        """What the crew knows of something; None where it was given no knowledge.

        Args:
            query: what is looked for; several texts are one query.
            results_limit: at most so many results.
            score_threshold: from 0 to 1, how near to the query they are at least.

        Raises:
            SourceError: a source of its knowledge cannot be used.
            StorageError: its knowledge cannot be searched.
        """
        known = self._current_knowledge
        return None if known is None else known.query(query, results_limit, score_threshold)

    async def aquery_knowledge(
        self, query: Sequence[str], results_limit: int = 3, score_threshold: float = 0.35
    ) -> "list[SearchResult] | None":
        """What the crew knows of something, looked up on this event loop; see `query_knowledge`."""
        known = self._current_knowledge
        if known is None:
            return None
        found: list[SearchResult] = await known.aquery(query, results_limit, score_threshold)
        return found

    def reset_knowledge(self, knowledges: Iterable[Any]) -> None:
        """Forget what is kept of some knowledge; its sources are read again when it is next asked.

        Raises:
            StorageError: it cannot be written.
        """
        for one in knowledges:
            one.reset()

    @property
    def _current_knowledge(self) -> Any:
        return cast("Crew", self.create_crew_knowledge()).knowledge

    def knowledge_of_type(self, kind: str) -> list[Any]:
        """What `reset_memories` means by "knowledge", which is all of it, and by "agent_knowledge"."""
        crew = cast("Crew", self)
        if kind not in ("knowledge", "agent_knowledge"):
            return []
        found: list[Any] = [] if kind == "agent_knowledge" else [self._current_knowledge]
        for agent in [*crew.agents, *(task.agent for task in crew.tasks if task.agent is not None)]:
            agent.set_knowledge(crew.embedder)
            found.append(agent.knowledge)
        return list({id(one): one for one in found if one is not None}.values())


_log = logging.getLogger("crewgraph")

_MEMORY_FIELDS: dict[str, tuple[str, ...]] = {
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

_ALIASES = {"short": "short_term", "long": "long_term"}


class CrewMemories(CrewKnowledge):
    """What a crew remembers and knows, and how that is forgotten."""

    @property
    def _short_term_memory(self) -> Any:
        return self.active_memory("short_term_memory")

    @property
    def _long_term_memory(self) -> Any:
        return self.active_memory("long_term_memory")

    @property
    def _entity_memory(self) -> Any:
        return self.active_memory("entity_memory")

    @property
    def _external_memory(self) -> Any:
        return self.active_memory("external_memory")

    def active_memory(self, field: str) -> Any:
        """The memory of a kind that a run uses; None where there is none, or where it was made and `memory` is off now."""
        memory: Any = getattr(self, field)
        return None if isinstance(memory, StoredMemory) and memory.is_automatic and not self._memory_enabled else memory

    @property
    def _memory_enabled(self) -> bool:
        return bool(getattr(self, "memory", False)) or bool(getattr(self, "contextual_memory", False))

    def create_crew_memory(self) -> Self:
        """Make the memories that it is to have and was not given, as it does itself when it is made; nothing is opened yet.

        Raises:
            ValueError: `memory_config`, or the `embedder_config` of its external memory, names no provider that there is.
            MissingExtra: the provider needs a package that is not installed.
        """
        made: Any = self
        if self._memory_enabled and isinstance(made.memory, bool):
            if made.short_term_memory is None:
                made.short_term_memory = ShortTermMemory(crew=self, embedder_config=made.embedder).mark_automatic()
            if made.long_term_memory is None:
                made.long_term_memory = LongTermMemory().mark_automatic()
            if made.entity_memory is None:
                made.entity_memory = EntityMemory(crew=self, embedder_config=made.embedder).mark_automatic()
            if made.external_memory is None and made.memory_config:
                made.external_memory = ExternalMemory(embedder_config=made.memory_config).mark_automatic()
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
        found = self.memories_of_type(command_type)
        for one in found:
            one.reset()
        if not found:
            _log.warning("the crew has no memory `%s` that could be reset", command_type)

    def memories_of_type(self, command_type: str) -> list[Any]:
        """What `reset_memories` resets for a name: memories, and whatever else has a `reset`.

        Raises:
            ValueError: there is no memory of that name.
        """
        asked = _ALIASES.get(command_type, command_type) if isinstance(command_type, str) else command_type  # pyright: ignore[reportUnnecessaryIsInstance]
        if asked != "all" and asked not in _MEMORY_FIELDS:
            known = ", ".join(f"`{one}`" for one in (*_ALIASES, *_MEMORY_FIELDS, "all"))
            raise ValueError(f"there is no memory `{command_type}`; there are {known}")
        kinds = tuple(_MEMORY_FIELDS) if asked == "all" else (asked,)
        named = dict.fromkeys(field for kind in kinds for field in _MEMORY_FIELDS[kind])
        given = {id(one): one for kind in kinds for one in self.knowledge_of_type(kind)}
        given |= {id(one): one for field in named if callable(getattr(one := getattr(self, field), "reset", None))}
        return list(given.values())
