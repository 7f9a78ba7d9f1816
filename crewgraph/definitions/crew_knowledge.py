"""The verbs on what a crew knows."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self, cast

from crewgraph.definitions.given_knowledge import current_knowledge

if TYPE_CHECKING:
    from crewgraph.definitions.crew import Crew
    from crewgraph.knowledge.passage import SearchResult

__all__ = ["CrewKnowledge"]

_COLLECTION = "crew"


class CrewKnowledge:
    """What a crew knows."""

    def create_crew_knowledge(self) -> Self:
        """Make `knowledge` of `knowledge_sources`, where it was not given; nothing is read yet."""
        crew = cast("Crew", self)
        made = current_knowledge(crew.knowledge, crew.knowledge_sources, _COLLECTION, None, crew.embedder)
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
        known = self._known
        return None if known is None else known.query(query, results_limit, score_threshold)

    async def aquery_knowledge(
        self, query: Sequence[str], results_limit: int = 3, score_threshold: float = 0.35
    ) -> "list[SearchResult] | None":
        """What the crew knows of something, looked up on this event loop; see `query_knowledge`."""
        known = self._known
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
    def _known(self) -> Any:
        return cast("Crew", self.create_crew_knowledge()).knowledge

    def kept_knowledge(self, kind: str) -> list[Any]:
        """What `reset_memories` means by "knowledge", which is all of it, and by "agent_knowledge"."""
        crew = cast("Crew", self)
        if kind not in ("knowledge", "agent_knowledge"):
            return []
        found: list[Any] = [] if kind == "agent_knowledge" else [self._known]
        for agent in [*crew.agents, *(task.agent for task in crew.tasks if task.agent is not None)]:
            agent.set_knowledge(crew.embedder)
            found.append(agent.knowledge)
        return list({id(one): one for one in found if one is not None}.values())
