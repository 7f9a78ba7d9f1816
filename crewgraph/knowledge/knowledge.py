"""Knowledge: sources in a storage, and the search in both.

From sources to the passages that are to be kept.
"""

import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator
from pydantic_core import PydanticSerializationError

from crewgraph.core.digests import digest
from crewgraph.core.loops.bridge import call, in_thread, wait_for
from crewgraph.extras import load
from crewgraph.knowledge.passage import Passage, SearchResult, grouped
from crewgraph.knowledge.source.base import BaseKnowledgeSource
from crewgraph.knowledge.source.kinds import as_sources
from crewgraph.knowledge.source.langchain import RetrieverKnowledgeSource
from crewgraph.knowledge.storage import BaseKnowledgeStorage, KnowledgeStorage, resolve_knowledge_storage
from crewgraph.own_version import own_version

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import BaseTool

__all__ = ["Knowledge", "Units", "gathered"]


Units = dict[str, list[Passage]]
"""Passages by what they belong to: a file, an address, or a source."""

_NOT_ITS_NAME = {
    *("chunks", "chunk_embeddings", "storage", "collection_name", "document_converter"),
    *("file_path", "file_paths", "safe_file_paths", "urls"),
}
"""Fields that do not say which source it is, or stand with each of its passages."""


def gathered(source: BaseKnowledgeSource, storage: Any) -> Units:
    """What a source consists of now, by where it is from; its `chunks` are set, too.

    A class with an `add` of its own is asked to add itself, and what it saves is taken.

    Args:
        source: the source.
        storage: where it will be kept, which is its `storage` from now on.

    Raises:
        SourceError: it cannot be used.
        Exception: whatever a class of the user's raised.
    """
    source.refresh()
    if _is_ours(source):
        return _cut(source, storage)
    collected = _begin(source)
    try:
        if type(source).add is BaseKnowledgeSource.add:
            wait_for(source.aadd())
        else:
            call(source.add)
    finally:
        source.storage = storage
    return _units(source, collected)


def _is_ours(source: BaseKnowledgeSource) -> bool:
    kind = type(source)
    return kind.add is BaseKnowledgeSource.add and kind.aadd is BaseKnowledgeSource.aadd


def _cut(source: BaseKnowledgeSource, storage: Any) -> Units:
    passages = source.passages()
    source.chunks, source.storage = [one.text for one in passages], storage
    return grouped(passages, _named(source))


class _Collected(BaseKnowledgeStorage):
    """Takes what a source saves."""

    documents: list[str] = []

    def save(self, documents: list[str]) -> None:
        self.documents = [*self.documents, *documents]

    def search(self, query: list[str], *_args: Any, **_given: Any) -> list[SearchResult]:
        return []

    def reset(self) -> None:
        self.documents = []


def _begin(source: BaseKnowledgeSource) -> _Collected:
    # An `add` appends to `chunks`: what an earlier one left there would be known for ever.
    source.chunks = list(source.given_chunks())
    collected = _Collected()
    source.storage = collected
    return collected


def _units(source: BaseKnowledgeSource, collected: _Collected) -> Units:
    saved: Sequence[str] = collected.documents
    return grouped([Passage(text, dict(source.metadata)) for text in saved if text.strip()], _named(source))


def _named(source: BaseKnowledgeSource) -> str:
    """What a source is called among others of its kind: the same as long as it is made in the same way.

    Where its texts are from stands behind it, so the names of files and addresses are no part of it.
    """
    fields = {field: getattr(source, field) for field in type(source).model_fields if field not in _NOT_ITS_NAME}
    if not isinstance(fields.get("content"), str):
        fields.pop("content", None)
    return f"{type(source).__name__}-{digest({field: _told(value) for field, value in fields.items()})}"


def _told(value: Any) -> Any:
    """A field as it stands in a name; what is no data, as a vector store, by its class."""
    if isinstance(value, Path):
        return str(value)
    try:
        digest(value)
    except PydanticSerializationError:
        return type(value).__qualname__
    return value


_LIMIT = 5
_THRESHOLD = 0.6


class Knowledge(BaseModel):
    """What agents know: texts from sources, found by what they mean.

        knowledge = Knowledge(collection_name="mill", sources=["The mill closes at noon.", "opening_hours.pdf"])
        knowledge.query(["When does the mill close?"])

    Sources are read when it is first asked, or by `load`. What has not changed since then, in this or an earlier process, is
    not embedded again; what is in no source any more is not found.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    sources: list[Any] = Field(default_factory=list[Any])
    """Where it comes from: sources, texts, `Path`s, LangChain retrievers, loaders and documents."""

    storage: Any = None
    """Where it is kept: a `BaseKnowledgeStorage`, a LangGraph store with an index, or the path of a folder."""

    embedder: Any = None
    """What turns texts into vectors: `{"provider": ..., "config": {...}}`, a function, LangChain's `Embeddings`; the local one
    where None."""

    collection_name: str | None = None
    """What it is called in the storage; others of the same name share what they have in common."""

    _made_of: tuple[int, ...] = PrivateAttr(default=())
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)
    _loaded: str | None = PrivateAttr(default=None)
    _units: frozenset[str] = PrivateAttr(default=frozenset[str]())

    def __init__(
        self, collection_name: str | None = None, sources: Iterable[Any] = (), embedder: Any = None, **given: Any
    ) -> None:
        super().__init__(collection_name=collection_name, sources=list(sources), embedder=embedder, **given)

    @field_validator("sources", mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        return as_sources(value or ())

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        if not isinstance(self.storage, BaseKnowledgeStorage):
            store = self.storage
            made = resolve_knowledge_storage(self.embedder, self.collection_name) if store is None else None
            usual = KnowledgeStorage(self.embedder, self.collection_name, store=store)
            self.storage = usual if made is None else made

    @property
    def made_of(self) -> tuple[int, ...]:
        """What a crew or an agent made it of; empty where a program made it itself."""
        return self._made_of

    @made_of.setter
    def made_of(self, of: tuple[int, ...]) -> None:
        self._made_of = of

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self  # it is where it is kept, and copies of an agent know the same

    def load(self) -> None:
        """Read the sources, and keep what is new in them; a run of a crew begins with it.

        Raises:
            SourceError: a source cannot be used.
            StorageError: it cannot be kept.
        """
        with self._lock:
            self._load()

    async def aload(self) -> None:
        """Read the sources; see `load`."""
        await in_thread(self.load)

    def ready(self) -> None:
        """Read the sources, where this was not done yet in this process; raises as `load`."""
        with self._lock:
            if self._loaded is None:
                self._load()

    async def aready(self) -> None:
        """Read the sources, where this was not done yet; see `ready`."""
        if self._loaded is None:
            await in_thread(self.ready)

    def _load(self) -> None:
        units = _together([gathered(one, self.storage) for one in self.sources])
        state = _state(units)
        if self._has_units:
            if state != self._loaded or not self.storage.has(units):
                self.storage.keep(units)
        elif units and state != self._loaded:
            self.storage.save(_texts(units))
        self._units, self._loaded = frozenset(units), state

    def add_sources(self) -> None:
        """CrewAI's name for `load`."""
        self.load()

    async def aadd_sources(self) -> None:
        """CrewAI's name for `aload`."""
        await self.aload()

    def query(
        self,
        query: "Sequence[str] | str",
        results_limit: int = _LIMIT,
        score_threshold: float = _THRESHOLD,
        metadata_filter: dict[str, Any] | None = None,
    ) -> list[SearchResult]:
        """What is known of something, the best first.

        Args:
            query: what is looked for; several texts are one query.
            results_limit: at most so many results.
            score_threshold: from 0 to 1, how near they are at least; 0.5 has nothing to do with the query.
            metadata_filter: what their metadata have to hold, with LangGraph's operators: `{"page": {"$lte": 3}}`.

        Raises:
            SourceError: a source cannot be used.
            StorageError: the storage cannot be searched.
        """
        asked = _asked(query)
        if not asked:
            return []
        self.ready()
        kept: list[SearchResult] = []
        if self._is_kept:
            kept = self.storage.search(asked, **self._wanted(results_limit, score_threshold, metadata_filter))
        live = [one.found(" ".join(asked), results_limit) for one in self._live]
        return _alternating([kept, *live])[:results_limit]

    async def aquery(
        self,
        query: "Sequence[str] | str",
        results_limit: int = _LIMIT,
        score_threshold: float = _THRESHOLD,
        metadata_filter: dict[str, Any] | None = None,
    ) -> list[SearchResult]:
        """What is known of something; see `query`."""
        asked = _asked(query)
        if not asked:
            return []
        await self.aready()
        kept: list[SearchResult] = []
        if self._is_kept:
            kept = await self.storage.asearch(asked, **self._wanted(results_limit, score_threshold, metadata_filter))
        live = [await one.afound(" ".join(asked), results_limit) for one in self._live]
        return _alternating([kept, *live])[:results_limit]

    def reset(self) -> None:
        """Forget everything in the collection; the sources are read again when it is next asked.

        Raises:
            StorageError: it cannot be written.
        """
        self.storage.reset()
        self._loaded = None

    async def areset(self) -> None:
        """Forget everything in the collection; see `reset`."""
        await self.storage.areset()
        self._loaded = None

    def as_retriever(
        self,
        results_limit: int = _LIMIT,
        score_threshold: float = _THRESHOLD,
        metadata_filter: dict[str, Any] | None = None,
    ) -> "BaseRetriever":
        """The search as a LangChain retriever, for any chain, agent or graph."""

        def search(text: str) -> "list[Document]":
            return _documents(self.query(text, results_limit, score_threshold, metadata_filter))

        async def asearch(text: str) -> "list[Document]":
            return _documents(await self.aquery(text, results_limit, score_threshold, metadata_filter))

        made: BaseRetriever = load("crewgraph.storage.store.retriever").Retriever(search=search, asearch=asearch)
        return made

    def as_tool(
        self,
        name: str = "search_knowledge",
        description: str = "Search the documents that are known. Say in a few words what you want to find out.",
        results_limit: int = _LIMIT,
        score_threshold: float = _THRESHOLD,
    ) -> "BaseTool":
        """The search as a LangChain tool: for `Agent(tools=[...])`, and for any LangGraph agent."""
        retriever = self.as_retriever(results_limit, score_threshold)
        made: BaseTool = load("crewgraph.storage.store.retriever").as_tool(retriever, name, description)
        return made

    @property
    def _live(self) -> list[RetrieverKnowledgeSource]:
        """The sources that are asked with each query."""
        return [one for one in self.sources if isinstance(one, RetrieverKnowledgeSource)]

    @property
    def _is_kept(self) -> bool:
        """Whether there may be something in the storage."""
        return bool(self._units) or not self._live

    @property
    def _has_units(self) -> bool:
        """Whether the storage keeps apart what is from different sources: ours does, unless a class of its own saves."""
        return isinstance(self.storage, KnowledgeStorage) and own_version(self.storage, "save") is None

    def _wanted(self, limit: int, threshold: float, metadata: dict[str, Any] | None) -> dict[str, Any]:
        """What a search is told: to find in the sources alone, where the storage can; without sources all there is."""
        told: dict[str, Any] = {"limit": limit, "score_threshold": threshold}
        if metadata is not None:
            told["metadata_filter"] = metadata
        ours = not any(own_version(self.storage, verb) for verb in ("search", "asearch"))
        return {**told, "units": self._units} if ours and self._has_units and self.sources else told


def _asked(query: "Sequence[str] | str") -> list[str]:
    texts = [query] if isinstance(query, str) else list(query)
    return [text for text in texts if text.strip()]


def _together(units: Iterable[Units]) -> Units:
    made: Units = {}
    for one in units:
        for name, passages in one.items():
            made.setdefault(name, []).extend(passages)
    return made


def _state(units: Units) -> str:
    return digest({name: [(one.text, one.metadata) for one in passages] for name, passages in units.items()})


def _texts(units: Units) -> list[str]:
    return [one.text for passages in units.values() for one in passages]


def _alternating(found: Sequence[Sequence[SearchResult]]) -> list[SearchResult]:
    """The best of each, then the second of each, and so on."""
    longest = max(map(len, found))
    return [one[rank] for rank in range(longest) for one in found if rank < len(one)]


def _documents(found: Iterable[SearchResult]) -> "list[Document]":
    made: Any = load("langchain_core.documents").Document
    return [
        made(id=one["id"], page_content=one["content"], metadata={**one["metadata"], "score": one["score"]})
        for one in found
    ]
