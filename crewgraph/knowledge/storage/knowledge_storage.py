"""The place where knowledge is kept unless another is given: a LangGraph store, by default on FAISS and SQLite."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crewgraph.core.loops.bridge import in_thread
from crewgraph.extras import load
from crewgraph.knowledge.passage import Passage, SearchResult
from crewgraph.knowledge.storage.base_knowledge_storage import BaseKnowledgeStorage
from crewgraph.own_version import ours, own_version

if TYPE_CHECKING:
    from crewgraph.knowledge.storage.collection import KnowledgeCollection

__all__ = ["KnowledgeStorage"]


class KnowledgeStorage(BaseKnowledgeStorage):
    """A collection of passages in a store; other projects and other collections have others."""

    collection_name: str | None = None
    """What the collection is called."""

    embedder: Any = None
    """What turns texts into vectors; the local embedder where None."""

    store: Any = None
    """A LangGraph store with an index, or the path of a folder or database file; None for `knowledge.db` in the storage
    folder."""

    def __init__(self, embedder: Any = None, collection_name: str | None = None, **given: Any) -> None:
        super(BaseKnowledgeStorage, self).__init__(embedder=embedder, collection_name=collection_name, **given)

    @property
    def _collection(self) -> "KnowledgeCollection":
        made = load("crewgraph.knowledge.storage.collection").KnowledgeCollection
        return made(self.collection_name or "knowledge", self.store, self.embedder)

    @ours
    def save(self, documents: list[str]) -> None:
        """Keep texts, in addition to what is kept already.

        Raises:
            StorageError: they cannot be written, or not be embedded.
        """
        self._collection.add(documents)

    @ours
    async def asave(self, documents: list[str]) -> None:
        """Keep texts; see `save`, of which a class's own is called."""
        if own_version(self, "save") is not None:
            await in_thread(self.save, documents)
        else:
            await self._collection.aadd(documents)

    def keep(self, units: Mapping[str, Sequence[Passage]]) -> None:
        """Let units consist of these passages alone: what is there already stays, what is new is embedded, the rest goes.

        Raises:
            StorageError: they cannot be written, or not be embedded.
        """
        self._collection.keep(units)

    def has(self, units: Iterable[str]) -> bool:
        """Whether there is something of each of these units.

        Raises:
            StorageError: the store cannot be read.
        """
        return self._collection.has(units)

    @ours
    def search(
        self,
        query: list[str],
        limit: int = 5,
        metadata_filter: dict[str, Any] | None = None,
        score_threshold: float = 0.6,
        *,
        units: Collection[str] | None = None,
    ) -> list[SearchResult]:
        """What fits a query, the best first.

        Args:
            query: what is looked for; several texts are one query.
            limit: at most so many results.
            metadata_filter: what their metadata have to hold, with LangGraph's operators.
            score_threshold: from 0 to 1, how near they are at least.
            units: only what belongs to these; everything in the collection where None.

        Raises:
            StorageError: the store cannot be searched.
        """
        return self._collection.search(" ".join(query), limit, score_threshold, metadata_filter, units)

    @ours
    async def asearch(
        self,
        query: list[str],
        limit: int = 5,
        metadata_filter: dict[str, Any] | None = None,
        score_threshold: float = 0.6,
        *,
        units: Collection[str] | None = None,
    ) -> list[SearchResult]:
        """What fits a query; see `search`, of which a class's own is called."""
        if own := own_version(self, "search"):
            told: dict[str, Any] = {} if metadata_filter is None else {"metadata_filter": metadata_filter}
            return await in_thread(own, query, limit=limit, score_threshold=score_threshold, **told)
        return await self._collection.asearch(" ".join(query), limit, score_threshold, metadata_filter, units)

    def reset(self) -> None:
        """Forget everything in the collection.

        Raises:
            StorageError: the store cannot be written.
        """
        self._collection.reset()

    async def areset(self) -> None:
        """Forget everything in the collection; see `reset`."""
        await self._collection.areset()
