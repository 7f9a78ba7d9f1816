"""`Knowledge`: sources, a storage, and the search in both; and the collection of a source's passages."""

import threading
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import ConfigDict, Field, PrivateAttr, field_validator
from pydantic_core import PydanticSerializationError

from crewgraph.core.digests import digest
from crewgraph.core.loops.bridge import acall, call, in_thread
from crewgraph.core.methods import async_of, from_program, other_form
from crewgraph.core.operations import Do, Program, user_call
from crewgraph.knowledge.passage import Passage, SearchResult, group_passages
from crewgraph.knowledge.source.base import BaseKnowledgeSource
from crewgraph.knowledge.source.kinds import as_sources
from crewgraph.knowledge.source.langchain import RetrieverKnowledgeSource
from crewgraph.knowledge.storage import BaseKnowledgeStorage, KnowledgeStorage, resolve_knowledge_storage
from crewgraph.observe.progress import progress
from crewgraph.overrides import override_of
from crewgraph.redaction import RedactedModel
from crewgraph.schema import Metadata

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import BaseTool


Units = dict[str, list[Passage]]
"""Passages by unit: a file, an address, or a source."""

_NOT_IDENTIFYING = {
    *("chunks", "chunk_embeddings", "storage", "collection_name", "document_converter"),
    *("file_path", "file_paths", "safe_file_paths", "urls"),
}
"""Fields that do not identify a source, or are stored with each of its passages."""


def collect_units(source: BaseKnowledgeSource, storage: Any) -> Units:
    """The current passages of a source by origin; also sets its `chunks`.

    A class that overrides `add` is called to add itself, and its saves are collected.

    Args:
        source: the source.
        storage: where the passages will be stored; becomes the source's `storage`.

    Raises:
        SourceError: the source cannot be used.
        Exception: whatever a custom class raised.
    """
    call(source.refresh)
    if _uses_own_add(source):
        passages = source.passages()
        source.chunks, source.storage = [passage.text for passage in passages], storage
        return group_passages(passages, _source_name(source))
    # An `add` appends to `chunks`: remainders of an earlier one would stay forever.
    source.chunks = list(source.given_chunks())
    collected = _CollectingStorage()
    source.storage = collected
    try:
        if type(source).add is BaseKnowledgeSource.add:
            call(source.aadd)
        else:
            call(source.add)
    finally:
        source.storage = storage
    saved: Sequence[str] = collected.documents
    return group_passages(
        [Passage(text, dict(source.metadata)) for text in saved if text.strip()], _source_name(source)
    )


def _uses_own_add(source: BaseKnowledgeSource) -> bool:
    kind = type(source)
    return kind.add is BaseKnowledgeSource.add and kind.aadd is BaseKnowledgeSource.aadd


class _CollectingStorage(BaseKnowledgeStorage):
    """Collects the saves of a source."""

    documents: list[str] = []

    def save(self, documents: list[str]) -> None:
        self.documents = [*self.documents, *documents]

    def search(self, query: list[str], *_args: object, **_kwargs: object) -> list[SearchResult]:
        return []

    def reset(self) -> None:
        self.documents = []


def _source_name(source: BaseKnowledgeSource) -> str:
    """The name of a source among others of its kind, stable as long as it is configured in the same way.

    The origin of its texts is appended to the name, so names of files and addresses are not part of it.
    """
    fields = {field: getattr(source, field) for field in type(source).model_fields if field not in _NOT_IDENTIFYING}
    if not isinstance(fields.get("content"), str):
        fields.pop("content", None)
    return f"{type(source).__name__}-{digest({field: _name_value(value) for field, value in fields.items()})}"


def _name_value(value: Any) -> object:
    """A field's value as part of a name; a value that is not data, such as a vector store, is represented by its class."""
    if isinstance(value, Path):
        return str(value)
    try:
        digest(value)
    except PydanticSerializationError:
        return type(value).__qualname__
    return value


_LIMIT = 5
_THRESHOLD = 0.6


class Knowledge(RedactedModel):
    """Texts from sources, searched by meaning.

        knowledge = Knowledge(collection_name="mill", sources=["The mill closes at noon.", "opening_hours.pdf"])
        knowledge.query(["When does the mill close?"])

    Sources are read on the first query, or by `load`. What has not changed since then, in this or an earlier process, is
    not embedded again; passages removed from a source are no longer found.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    sources: list[Any] = Field(default_factory=list[Any])
    """Sources, texts, `Path`s, LangChain retrievers, loaders and documents, such as
    `["The mill closes at noon.", Path("prices.csv")]`."""

    storage: Any = None
    """A `BaseKnowledgeStorage`, a LangGraph store with an index, or the path of a folder; None for the storage folder."""

    embedder: Any = None
    """The embedder: `{"provider": ..., "config": {...}}`, a function, LangChain's `Embeddings`; None for the local one."""

    collection_name: str | None = None
    """The name of the collection in the storage; knowledge with the same name shares its passages."""

    _made_of: tuple[int, ...] = PrivateAttr(default=())
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)
    _loaded: str | None = PrivateAttr(default=None)
    _units: frozenset[str] = PrivateAttr(default=frozenset[str]())

    def __init__(
        self,
        collection_name: str | None = None,
        sources: Iterable[object] = (),
        embedder: object = None,
        **data: object,
    ) -> None:
        super().__init__(collection_name=collection_name, sources=list(sources), embedder=embedder, **data)

    @field_validator("sources", mode="before")
    @classmethod
    def _read(cls, value: Any) -> object:
        return as_sources(value or ())

    def model_post_init(self, context: object, /) -> None:
        """Open the storage; pydantic calls this after validation."""
        super().model_post_init(context)
        if not isinstance(self.storage, BaseKnowledgeStorage):
            store = self.storage
            custom = resolve_knowledge_storage(self.embedder, self.collection_name) if store is None else None
            default = KnowledgeStorage(self.embedder, self.collection_name, store=store)
            self.storage = default if custom is None else custom

    @property
    def made_of(self) -> tuple[int, ...]:
        """The ids of the sources that a crew or an agent created it from; empty if a program created it."""
        return self._made_of

    @made_of.setter
    def made_of(self, of: tuple[int, ...]) -> None:
        self._made_of = of

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self  # the content stays in place, and copies of an agent share it

    def load(self) -> None:
        """Read the sources and store new content; called at the start of a crew's run.

        Raises:
            SourceError: a source cannot be used.
            StorageError: the passages cannot be stored.
        """
        with self._lock:
            self._load()

    aload = other_form(load, "aload")
    """Async `load`."""

    def ensure_loaded(self) -> None:
        """Read the sources unless that was done in this process; raises like `load`."""
        with self._lock:
            if self._loaded is None:
                self._load()

    async def aensure_loaded(self) -> None:
        """Async `ensure_loaded`."""
        if self._loaded is None:
            await in_thread(self.ensure_loaded)

    def _load(self) -> None:
        with progress(f"Reading {self.collection_name or 'knowledge'}", len(self.sources), "sources") as shown:
            collected: list[Units] = []
            for source in self.sources:
                collected.append(collect_units(source, self.storage))
                shown.advance()
        units = _merge_units(collected)
        state = _units_digest(units)
        if self._supports_units:
            if state != self._loaded or not self.storage.has(units):
                self.storage.keep(units)
        elif units and state != self._loaded:
            call(self.storage.save, _texts(units))
        self._units, self._loaded = frozenset(units), state

    def add_sources(self) -> None:
        """CrewAI's name for `load`."""
        self.load()

    aadd_sources = other_form(aload, "aadd_sources")
    """CrewAI's name for `aload`."""

    @from_program
    def query(
        self,
        query: "Sequence[str] | str",
        results_limit: int = _LIMIT,
        score_threshold: float = _THRESHOLD,
        metadata_filter: Metadata | None = None,
    ) -> "Program[list[SearchResult]]":
        """The passages that match a query, best first.

        Args:
            query: the query; several texts form one query.
            results_limit: the maximum number of results.
            score_threshold: the minimum score from 0 to 1; 0.5 is unrelated to the query.
            metadata_filter: conditions on the metadata, with LangGraph's operators: `{"page": {"$lte": 3}}`.

        Raises:
            SourceError: a source cannot be used.
            StorageError: the storage cannot be searched.
        """
        texts = _query_texts(query)
        if not texts:
            return []
        yield Do(self.ensure_loaded, self.aensure_loaded)
        stored: list[SearchResult] = []
        if self._has_stored:
            arguments = self._search_arguments(results_limit, score_threshold, metadata_filter)
            stored = yield user_call(
                partial(self.storage.search, **arguments), texts, twin=partial(self.storage.asearch, **arguments)
            )
        results = [stored]
        for retriever in self._retrievers:
            results.append((yield Do(retriever.search, retriever.asearch, " ".join(texts), results_limit)))
        return _interleave(results)[:results_limit]

    aquery = async_of(query)
    """Async `query`."""

    def reset(self) -> None:
        """Delete everything in the collection; the next query reads the sources again.

        Raises:
            StorageError: the storage cannot be written.
        """
        call(self.storage.reset)
        self._loaded = None

    async def areset(self) -> None:
        """Async `reset`."""
        await acall(self.storage.areset)
        self._loaded = None

    def as_retriever(
        self,
        results_limit: int = _LIMIT,
        score_threshold: float = _THRESHOLD,
        metadata_filter: Metadata | None = None,
    ) -> "BaseRetriever":
        """The search as a LangChain retriever, for any chain, agent or graph."""

        def search(text: str) -> "list[Document]":
            return _documents(self.query(text, results_limit, score_threshold, metadata_filter))

        async def asearch(text: str) -> "list[Document]":
            return _documents(await self.aquery(text, results_limit, score_threshold, metadata_filter))

        from crewgraph.storage.store.retriever import Retriever

        retriever: BaseRetriever = Retriever(search=search, asearch=asearch)
        return retriever

    def as_tool(
        self,
        name: str = "search_knowledge",
        description: str = "Search the documents that are known. Say in a few words what you want to find out.",
        results_limit: int = _LIMIT,
        score_threshold: float = _THRESHOLD,
    ) -> "BaseTool":
        """The search as a LangChain tool, for `Agent(tools=[...])` and for any LangGraph agent."""
        retriever = self.as_retriever(results_limit, score_threshold)
        from crewgraph.storage.store.retriever import retriever_tool

        tool: BaseTool = retriever_tool(retriever, name, description)
        return tool

    @property
    def _retrievers(self) -> list[RetrieverKnowledgeSource]:
        """The sources that are queried directly."""
        return [source for source in self.sources if isinstance(source, RetrieverKnowledgeSource)]

    @property
    def _has_stored(self) -> bool:
        """Whether the storage may hold passages."""
        return bool(self._units) or not self._retrievers

    @property
    def _supports_units(self) -> bool:
        """Whether the storage separates units: the built-in one does, unless a subclass overrides `save`."""
        return isinstance(self.storage, KnowledgeStorage) and override_of(self.storage, "save") is None

    def _search_arguments(self, limit: int, threshold: float, metadata: Metadata | None) -> dict[str, object]:
        """The arguments of a search: restricted to the units of the sources, if any, where the storage supports that."""
        arguments: dict[str, object] = {"limit": limit, "score_threshold": threshold}
        if metadata is not None:
            arguments["metadata_filter"] = metadata
        is_default_search = not any(override_of(self.storage, method_name) for method_name in ("search", "asearch"))
        return (
            {**arguments, "units": self._units}
            if is_default_search and self._supports_units and self.sources
            else arguments
        )


def _query_texts(query: "Sequence[str] | str") -> list[str]:
    texts = [query] if isinstance(query, str) else list(query)
    return [text for text in texts if text.strip()]


def _merge_units(units: Iterable[Units]) -> Units:
    merged: Units = {}
    for part in units:
        for name, passages in part.items():
            merged.setdefault(name, []).extend(passages)
    return merged


def _units_digest(units: Units) -> str:
    return digest(
        {name: [(passage.text, passage.metadata) for passage in passages] for name, passages in units.items()}
    )


def _texts(units: Units) -> list[str]:
    return [passage.text for passages in units.values() for passage in passages]


def _interleave(result_lists: Sequence[Sequence[SearchResult]]) -> list[SearchResult]:
    """The best of each list, then the second of each, and so on."""
    longest = max(map(len, result_lists))
    return [results[rank] for rank in range(longest) for results in result_lists if rank < len(results)]


def _documents(results: Iterable[SearchResult]) -> "list[Document]":
    from langchain_core.documents import Document

    return [
        Document(
            id=result["id"], page_content=result["content"], metadata={**result["metadata"], "score": result["score"]}
        )
        for result in results
    ]
