"""Methods on the memories and the knowledge of crews."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

from crewgraph.definitions.fields import resolve_knowledge
from crewgraph.redaction import redacted_logger

if TYPE_CHECKING:
    from crewgraph.knowledge.passage import SearchResult


_COLLECTION = "crew"

_log = redacted_logger("crewgraph")

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
"""Fields of a crew by the name under which `reset_memories` resets them."""

_ALIASES = {"short": "short_term", "long": "long_term"}


class CrewMemories:
    """The memories and the knowledge of a crew, and resetting them."""

    def create_crew_knowledge(self) -> Self:
        """Create `knowledge` from `knowledge_sources` if it is not set; sources are read later."""
        crew: Any = self
        knowledge = resolve_knowledge(crew.knowledge, crew.knowledge_sources, _COLLECTION, None, crew.embedder)
        if knowledge is not crew.knowledge:
            crew.knowledge = knowledge
        return self

    def query_knowledge(
        self, query: Sequence[str], results_limit: int = 3, score_threshold: float = 0.35
    ) -> "list[SearchResult] | None":
        """Search the crew's knowledge; None if it has none.

        Args:
            query: The query; several texts form one query.
            results_limit: Maximum number of results.
            score_threshold: Minimum similarity to the query, from 0 to 1.

        Raises:
            SourceError: If a source cannot be used.
            StorageError: If the search fails.
        """
        knowledge = self._current_knowledge
        return None if knowledge is None else knowledge.query(query, results_limit, score_threshold)

    async def aquery_knowledge(
        self, query: Sequence[str], results_limit: int = 3, score_threshold: float = 0.35
    ) -> "list[SearchResult] | None":
        """Async version of `query_knowledge`."""
        knowledge = self._current_knowledge
        if knowledge is None:
            return None
        results: list[SearchResult] = await knowledge.aquery(query, results_limit, score_threshold)
        return results

    def reset_knowledge(self, knowledges: Iterable[Any]) -> None:
        """Delete stored knowledge; its sources are read again at the next query.

        Raises:
            StorageError: If the storage cannot be written.
        """
        for knowledge in knowledges:
            knowledge.reset()

    @property
    def _current_knowledge(self) -> Any:
        crew: Any = self.create_crew_knowledge()
        return crew.knowledge

    def knowledge_of_type(self, kind: str) -> list[Any]:
        """Return the knowledge that `reset_memories` resets for "knowledge" (all of it) or "agent_knowledge"."""
        crew: Any = self
        if kind not in ("knowledge", "agent_knowledge"):
            return []
        knowledges: list[object] = [] if kind == "agent_knowledge" else [self._current_knowledge]
        for agent in [*crew.agents, *(task.agent for task in crew.tasks if task.agent is not None)]:
            agent.set_knowledge(crew.embedder)
            knowledges.append(agent.knowledge)
        return list({id(item): item for item in knowledges if item is not None}.values())

    def active_memory(self, field: str) -> Any:
        """Return the memory that a run uses; None if there is none, or it was created automatically and `memory` is off."""
        memory = getattr(self, field)
        from crewgraph.memory.kinds import StoredMemory

        return None if isinstance(memory, StoredMemory) and memory.is_automatic and not self._memory_enabled else memory

    @property
    def _memory_enabled(self) -> bool:
        return bool(getattr(self, "memory", False)) or bool(getattr(self, "contextual_memory", False))

    def create_crew_memory(self) -> Self:
        """Create the enabled memories that are not set, as the constructor does; storage is opened later.

        Raises:
            ValueError: If `memory_config`, or the `embedder_config` of the external memory, names an unknown provider.
            MissingExtra: If the provider needs a package that is not installed.
        """
        crew: Any = self
        if self._memory_enabled and isinstance(crew.memory, bool):
            from crewgraph.memory.kinds import EntityMemory, ExternalMemory, LongTermMemory, ShortTermMemory

            makers: dict[str, Callable[[], Any]] = {
                "short_term_memory": lambda: ShortTermMemory(crew=self, embedder_config=crew.embedder),
                "long_term_memory": LongTermMemory,
                "entity_memory": lambda: EntityMemory(crew=self, embedder_config=crew.embedder),
            }
            if crew.memory_config:
                makers["external_memory"] = lambda: ExternalMemory(embedder_config=crew.memory_config)
            for field, make in makers.items():
                if getattr(crew, field) is None:
                    setattr(crew, field, make().mark_automatic())
        if (set_crew := getattr(crew.external_memory, "set_crew", None)) is not None:
            set_crew(self)
        return self

    def reset_memories(self, command_type: str) -> None:
        """Reset memories; logs a warning if the crew has none of the kind.

        Trained lessons and stored runs (see `runs`) are kept.

        Args:
            command_type: The memory to reset: "short_term" (or "short"), "long_term" (or "long"), "entity", "external", "memory"
                (all of these), "knowledge", "agent_knowledge", "kickoff_outputs", or "all".

        Raises:
            ValueError: If there is no memory of that name.
        """
        memories = self.memories_of_type(command_type)
        for memory in memories:
            memory.reset()
        if not memories:
            _log.warning("the crew has no memory `%s` that could be reset", command_type)

    def memories_of_type(self, command_type: str) -> list[Any]:
        """Return what `reset_memories` resets for a name: memories and other objects with a `reset`.

        Raises:
            ValueError: If there is no memory of that name.
        """
        name = _ALIASES.get(command_type, command_type) if isinstance(command_type, str) else command_type  # pyright: ignore[reportUnnecessaryIsInstance]
        if name != "all" and name not in _MEMORY_FIELDS:
            known = ", ".join(f"`{kind}`" for kind in (*_ALIASES, *_MEMORY_FIELDS, "all"))
            raise ValueError(f"there is no memory `{command_type}`; there are {known}")
        kinds = tuple(_MEMORY_FIELDS) if name == "all" else (name,)
        fields = dict.fromkeys(field for kind in kinds for field in _MEMORY_FIELDS[kind])
        by_id = {id(item): item for kind in kinds for item in self.knowledge_of_type(kind)}
        by_id |= {id(item): item for field in fields if callable(getattr(item := getattr(self, field), "reset", None))}
        return list(by_id.values())
