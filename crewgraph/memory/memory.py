"""`Memory`: texts in a tree of scopes, recalled by meaning.

`MemoryReads` and `MemoryWrites` are the methods that a memory shares with its parts: `MemoryScope`, a scope and all below it,
and `MemorySlice`, several scopes read as one. The work is done by programs, here and in `programs.py`.
"""

import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator, model_validator

from crewgraph.core.methods import async_of, from_program
from crewgraph.errors import NoModelError, RunError
from crewgraph.llm.resolve import default_llm
from crewgraph.memory.backend import resolve_memory_storage
from crewgraph.memory.records import (
    MemoryConfig,
    MemoryMatch,
    MemoryRecord,
    RecordFilter,
    ScopeInfo,
    join_scope_paths,
    scope_parts,
    utc_now,
)
from crewgraph.prompts.i18n import Book, default_book
from crewgraph.schema import Metadata, PlainDict, is_mapping

if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import BaseTool

    from crewgraph.core.operations import Program
    from crewgraph.memory.store_records import BackendRecords, StoreRecords


Depth = Literal["shallow", "deep"]
"""How thorough a recall is."""


class MemoryReads(ABC):
    """Recalling and inspecting. Each method has an async form with the prefix `a`.

    All raise `StorageError` if the storage cannot be read.
    """

    @abstractmethod
    def _memory_ref(self) -> "Memory":
        """The underlying memory."""

    @abstractmethod
    def _roots(self) -> Sequence[str]:
        """The visible scopes."""

    def _resolve_scope(self, scope: str | None) -> list[str]:
        """The absolute scopes that a caller's path refers to."""
        return [join_scope_paths(root, scope) for root in self._roots()]

    def _effective_categories(self, categories: Sequence[str] | None) -> Sequence[str] | None:
        return categories

    @from_program
    def recall(
        self,
        query: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        limit: int = 10,
        depth: Depth = "deep",
        source: str | None = None,
        include_private: bool = False,
    ) -> "Program[list[MemoryMatch]]":
        """The memories that match a query, best first.

        Args:
            query: the query.
            scope: only this scope and those below it.
            categories: only records with at least one of these.
            limit: the maximum number of matches.
            depth: "shallow" searches once; "deep" lets the model, if there is one, analyze a long query, and search again
                if the matches are weak.
            source: also include this source's private records.
            include_private: include all private records.
        """
        places = self._resolve_scope(scope)
        from crewgraph.memory.programs import RecallRequest, recall_program

        request = RecallRequest(
            query=query,
            places=places,
            categories=self._effective_categories(categories),
            limit=limit if places else 0,
            depth=depth,
            source=source,
            include_private=include_private,
        )
        return recall_program(self._memory_ref(), request)

    arecall = async_of(recall)
    """Async `recall`."""

    @from_program
    def extract_memories(self, content: str) -> "Program[list[str]]":
        """Ask the model for the facts of a text worth remembering; return the text itself without a model. Nothing is saved."""
        memory = self._memory_ref()
        from crewgraph.memory.analyze import extraction_program

        return extraction_program(content, memory.model, memory.wording)

    aextract_memories = async_of(extract_memories)
    """Async `extract_memories`."""

    @from_program
    def list_records(
        self, scope: str | None = None, limit: int = 200, offset: int = 0
    ) -> "Program[list[MemoryRecord]]":
        """The records of a scope and those below it, newest first."""
        return (yield from self._listing_program(scope))[offset : offset + limit]

    alist_records = async_of(list_records)
    """Async `list_records`."""

    @from_program
    def list_scopes(self, path: str | None = None) -> "Program[list[str]]":
        """The absolute paths of the scopes directly below a scope."""
        scopes: set[str] = set()
        for place in self._resolve_scope(path):
            scopes |= _children(place, (yield from self._memory_ref().records.scopes(place)))
        return sorted(scopes)

    alist_scopes = async_of(list_scopes)
    """Async `list_scopes`."""

    @from_program
    def list_categories(self, path: str | None = None) -> "Program[dict[str, int]]":
        """The number of records by category, in a scope and below it."""
        records = yield from self._listing_program(path)
        return dict(Counter(name for record in records for name in record.categories).most_common())

    alist_categories = async_of(list_categories)
    """Async `list_categories`."""

    @from_program
    def info(self, path: str | None = None) -> "Program[ScopeInfo]":
        """Statistics of a scope and those below it."""
        places, records = self._resolve_scope(path), (yield from self._listing_program(path))
        times = [record.created_at for record in records]
        return ScopeInfo(
            path=_display_path(places, path),
            record_count=len(records),
            categories=sorted({name for record in records for name in record.categories}),
            oldest_record=min(times, default=None),
            newest_record=max(times, default=None),
            child_scopes=sorted(
                {child for place in places for child in _children(place, [record.scope for record in records])}
            ),
        )

    ainfo = async_of(info)
    """Async `info`."""

    @from_program
    def tree(self, path: str | None = None, max_depth: int = 3) -> "Program[str]":
        """The scopes below a scope with their numbers of records, as text with a line for each."""
        records, shown = (yield from self._listing_program(path)), _display_path(self._resolve_scope(path), path)
        counts: Counter[tuple[str, ...]] = Counter()
        for record in records:
            parts = scope_parts(record.scope)
            counts.update(parts[:length] for length in range(len(parts) + 1))
        top = len(scope_parts(shown))
        below = [
            (join_scope_paths(None, "/".join(parts)), counts[parts], len(parts) - top)
            for parts in sorted(counts)
            if top < len(parts) <= top + max_depth
        ]
        return "\n".join(
            f"{'  ' * depth}{scope} ({count} {'record' if count == 1 else 'records'})"
            for scope, count, depth in [(shown, len(records), 0), *below]
        )

    atree = async_of(tree)
    """Async `tree`."""

    def as_retriever(self, limit: int = 4, depth: Depth = "shallow", **words: object) -> "BaseRetriever":
        """The memory as a LangChain retriever, for chains and graphs.

        Args:
            limit: the maximum number of documents.
            depth: as for `recall`.
            words: `scope`, `categories`, `source`, `include_private`, as for `recall`.

        Returns:
            A retriever whose documents have `score`, `scope`, `categories`, `id`, `source` and `importance` in their metadata,
            in addition to the record's own.
        """
        arguments: PlainDict = {"limit": limit, "depth": depth, **words}
        from langchain_core.documents import Document

        from crewgraph.storage.store.retriever import Retriever

        def documents(matches: Sequence[MemoryMatch]) -> list[Document]:
            return [
                Document(
                    page_content=match.record.content,
                    metadata={
                        **match.record.metadata,
                        **match.record.model_dump(include={"id", "scope", "categories", "importance", "source"}),
                        "score": match.score,
                    },
                )
                for match in matches
            ]

        def search(query: str) -> list[Document]:
            return documents(self.recall(query, **arguments))

        async def asearch(query: str) -> list[Document]:
            return documents(await self.arecall(query, **arguments))

        return Retriever(search=search, asearch=asearch)

    def as_tool(
        self, name: str = "search_memory", description: str | None = None, limit: int = 4, **words: Any
    ) -> "BaseTool":
        """The memory as a LangChain tool with a `query` argument, for any agent.

        Args:
            name: the tool's name.
            description: the tool's description for models.
            limit: the maximum number of texts.
            words: as for `as_retriever`.
        """
        tool_description = description or str(default_book().text("tools", "recall_memory"))
        from crewgraph.storage.store.retriever import retriever_tool

        return retriever_tool(self.as_retriever(limit, **words), name, tool_description)

    def _listing_program(self, scope: str | None) -> "Program[list[MemoryRecord]]":
        memory, records = self._memory_ref(), dict[str, MemoryRecord]()
        for place in self._resolve_scope(scope):
            records |= {record.id: record for record in (yield from memory.records.listing(RecordFilter(scope=place)))}
        return sorted(records.values(), key=lambda record: record.created_at, reverse=True)


def _children(scope: str, paths: Sequence[str]) -> set[str]:
    base = scope_parts(scope)
    below = (scope_parts(path) for path in paths)
    return {
        "/" + "/".join(parts[: len(base) + 1])
        for parts in below
        if len(parts) > len(base) and parts[: len(base)] == base
    }


def _display_path(places: Sequence[str], path: str | None) -> str:
    return places[0] if len(places) == 1 else "/" + "/".join(scope_parts(path))


class MemoryWrites(MemoryReads):
    """Remembering and forgetting. Each method has an async form with the prefix `a`.

    All raise `StorageError` if the storage cannot be read or written.
    """

    @abstractmethod
    def _root(self) -> str:
        """The scope that all others are below."""

    def _scope(self, scope: str | None) -> str | None:
        """The scope to save in; None to let the model choose."""
        return scope

    @from_program
    def remember(
        self,
        content: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: Metadata | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        agent_role: str | None = None,
        root_scope: str | None = None,
    ) -> "Program[MemoryRecord | None]":
        """Save a memory; it is stored when this returns.

        The model, if there is one, chooses the `scope`, `categories` and `importance` that are None; otherwise they are the root,
        none and `default_importance`. The same words with the same scope, source and privacy stay one record. Similar records are
        consolidated as the model says.

        Args:
            content: the text.
            scope: the path of its scope.
            categories: its topics.
            metadata: further JSON data.
            importance: from 0 to 1.
            source: where it comes from.
            private: whether only that source recalls it.
            agent_role: the role of the agent, for events.
            root_scope: the scope that `scope` is relative to, instead of the memory's own.

        Returns:
            The record that now holds it; None if the text is blank or the memory is read-only.

        Raises:
            TypeError: the metadata are not JSON data.
            ValueError: a value is invalid.
        """
        records = yield from self._save_program(
            [content], scope, categories, metadata, importance, source, private, agent_role, root_scope
        )
        return records[0] if records else None

    aremember = async_of(remember)
    """Async `remember`."""

    @from_program
    def remember_many(
        self,
        contents: list[str],
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: Metadata | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        agent_role: str | None = None,
        root_scope: str | None = None,
    ) -> "Program[list[MemoryRecord]]":
        """Save several memories in one write; see `remember`."""
        return self._save_program(
            contents, scope, categories, metadata, importance, source, private, agent_role, root_scope
        )

    aremember_many = async_of(remember_many)
    """Async `remember_many`."""

    @from_program
    def forget(
        self,
        scope: str | None = None,
        categories: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: Metadata | None = None,
        record_ids: list[str] | None = None,
    ) -> "Program[int]":
        """Delete the records that match all conditions; without any, all records.

        Args:
            scope: records of this scope and those below it.
            categories: records with at least one of these.
            older_than: records created before; a time without a zone is in UTC.
            metadata_filter: records with all of these values.
            record_ids: records with these ids.

        Returns:
            The number of deleted records.

        Raises:
            RunError: the memory is read-only.
        """
        self._refuse_read_only("forget")
        return _deletion(
            self._memory_ref(),
            RecordFilter(
                scope=join_scope_paths(self._root(), scope),
                categories=categories,
                older_than=older_than,
                metadata=metadata_filter,
                record_ids=record_ids,
            ),
        )

    aforget = async_of(forget)
    """Async `forget`."""

    def reset(self, scope: str | None = None) -> None:
        """Forget everything, or all of a scope.

        Raises:
            RunError: the memory is read-only.
        """
        self.forget(scope)

    async def areset(self, scope: str | None = None) -> None:
        """Async `reset`."""
        await self.aforget(scope)

    def _save_program(
        self,
        contents: Sequence[str],
        scope: str | None,
        categories: Sequence[str] | None,
        metadata: Metadata | None,
        importance: float | None,
        source: str | None,
        private: bool,
        agent_role: str | None,
        root_scope: str | None,
    ) -> "Program[list[MemoryRecord]]":
        memory = self._memory_ref()
        from crewgraph.memory.programs import SaveRequest, save_program

        request = SaveRequest(
            contents=[] if memory.read_only else list(contents),
            root=self._root() if root_scope is None else join_scope_paths(root_scope, None),
            scope=self._scope(scope),
            categories=categories,
            metadata=metadata,
            importance=importance,
            source=source,
            private=private,
            agent_role=agent_role,
        )
        return save_program(memory, request)

    def _refuse_read_only(self, method_name: str) -> None:
        if self._memory_ref().read_only:
            raise RunError(f"`{method_name}` on a read-only memory: create it with `read_only=False` to change it")


def _deletion(memory: "Memory", record_filter: RecordFilter) -> "Program[int]":
    return (yield from memory.records.deleting((yield from memory.records.listing(record_filter))))


class MemoryScope(MemoryWrites, BaseModel):
    """The part of a memory below a path: `memory.scope("/agent/writer")`.

    Paths that it takes are relative to there, with or without a leading slash; paths that it returns are absolute.
    """

    memory_kind: Literal["scope"] = "scope"
    """Distinguishes it from memories and slices when dumped."""

    root_path: str = "/"
    """The path of its root."""

    _memory: "Memory | None" = PrivateAttr(default=None)

    def __init__(self, memory: "Memory | None" = None, **data: object) -> None:
        """Create a scope of a memory.

        Args:
            memory: the memory; None until `bind`.
            data: `root_path`.
        """
        super().__init__(**data)
        self._memory = memory

    @field_validator("root_path")
    @classmethod
    def _path(cls, path: str) -> str:
        return join_scope_paths(path, None)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """The same part of the same memory."""
        return self

    @property
    def read_only(self) -> bool:
        """Whether writes are disabled."""
        return self._memory_ref().read_only

    @property
    def llm(self) -> Any:
        """The `llm` of the memory."""
        return self._memory_ref().llm

    def bind(self, memory: "Memory") -> Self:
        """Set the memory."""
        self._memory = memory
        return self

    def subscope(self, path: str) -> "MemoryScope":
        """A scope below this one."""
        return MemoryScope(memory=self._memory_ref(), root_path=join_scope_paths(self.root_path, path))

    def _memory_ref(self) -> "Memory":
        if self._memory is None:
            raise RunError(
                f"the scope `{self.root_path}` has no memory yet: create it with `memory.scope(...)`, or `bind` it"
            )
        return self._memory

    def _root(self) -> str:
        return join_scope_paths(self._memory_ref().root_scope, self.root_path)

    def _roots(self) -> Sequence[str]:
        return [self._root()]

    def _scope(self, scope: str | None) -> str | None:
        return scope or "/"  # records of a scope object belong to its own scope


class MemorySlice(MemoryReads, BaseModel):
    """Several scopes of a memory, read as one: `memory.slice(["/agent/writer", "/company"])`."""

    memory_kind: Literal["slice"] = "slice"
    """Distinguishes it from memories and scopes when dumped."""

    scopes: list[str] = Field(default_factory=list[str])
    """The paths of the scopes."""

    categories: list[str] | None = None
    """The default of `categories` when recalling."""

    read_only: bool = True
    """Whether writes are disabled."""

    _memory: "Memory | None" = PrivateAttr(default=None)

    def __init__(self, memory: "Memory | None" = None, **data: object) -> None:
        """Create a slice of a memory.

        Args:
            memory: the memory; None until `bind`.
            data: `scopes`, `categories`, `read_only`.
        """
        super().__init__(**data)
        self._memory = memory

    @field_validator("scopes")
    @classmethod
    def _paths(cls, paths: list[str]) -> list[str]:
        return [join_scope_paths(path, None) for path in paths]

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """The same parts of the same memory."""
        return self

    def bind(self, memory: "Memory") -> Self:
        """Set the memory."""
        self._memory = memory
        return self

    def remember(
        self,
        content: str,
        scope: str,
        categories: list[str] | None = None,
        metadata: Metadata | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
    ) -> MemoryRecord | None:
        """Save a memory in or below one of the scopes; see `Memory.remember`.

        Returns:
            The record; None if the slice is read-only.

        Raises:
            ValueError: the scope is not part of the slice.
        """
        if self.read_only:
            return None
        return self._memory_ref().remember(
            content, self._check_scope(scope), categories, metadata, importance, source, private
        )

    async def aremember(
        self,
        content: str,
        scope: str,
        categories: list[str] | None = None,
        metadata: Metadata | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
    ) -> MemoryRecord | None:
        """Async `remember`."""
        if self.read_only:
            return None
        return await self._memory_ref().aremember(
            content, self._check_scope(scope), categories, metadata, importance, source, private
        )

    def _memory_ref(self) -> "Memory":
        if self._memory is None:
            raise RunError("the slice has no memory yet: create it with `memory.slice([...])`, or `bind` it")
        return self._memory

    def _roots(self) -> Sequence[str]:
        return [join_scope_paths(self._memory_ref().root_scope, path) for path in self.scopes]

    def _resolve_scope(self, scope: str | None) -> list[str]:
        """The slice's scopes below a path; the path itself if it is in the slice."""
        requested = scope_parts(join_scope_paths(self._memory_ref().root_scope, scope))
        roots = {root: scope_parts(root) for root in self._roots()}
        if any(requested[: len(parts)] == parts for parts in roots.values()):
            return ["/" + "/".join(requested)]
        return [root for root, parts in roots.items() if parts[: len(requested)] == requested]

    def _effective_categories(self, categories: Sequence[str] | None) -> Sequence[str] | None:
        return self.categories if categories is None else categories

    def _check_scope(self, scope: str) -> str:
        parts = scope_parts(scope)
        if not any(parts[: len(allowed)] == allowed for allowed in map(scope_parts, self.scopes)):
            scopes = ", ".join(f"`{path}`" for path in self.scopes)
            raise ValueError(f"the scope `{scope}` is not part of the slice; its scopes are {scopes}")
        return scope


_DEFAULT_STORAGE = "lancedb"
_DEFAULT_STORAGES = (_DEFAULT_STORAGE, "qdrant-edge")


class Memory(MemoryWrites, MemoryConfig):
    """Memory of crews, agents, flows and programs.

        memory = Memory()
        memory.remember("The harbour master is called Ines.", scope="/people")
        memory.recall("who runs the harbour?")

    Memories of the same project and storage share their records. Neither a key nor a model is needed.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, validate_assignment=False)

    memory_kind: Literal["memory"] = "memory"
    """Distinguishes it from scopes and slices when dumped."""

    llm: Any = None
    """The model that classifies memories: anything that an agent accepts as `llm`. None is the model that the environment
    names, if any; False is no model.
    """

    storage: Any = Field(default=None, validate_default=True)
    """A path (`"./memory"`), a LangGraph store with semantic search (`InMemoryStore(index=...)`), or a `StorageBackend`; None for
    the storage folder, where each project has its own records.
    """

    embedder: Any = None
    """The embedder: `{"provider": "openai", "config": {"model_name": "text-embedding-3-small"}}`, a function, or LangChain's
    `Embeddings`; None for the local one, which needs no key. Ignored for a LangGraph store."""

    query_analysis_threshold: int = Field(default=200, ge=0)
    """Queries of at least this many characters are analyzed by the model."""

    read_only: bool = False
    """Whether writes are disabled: `remember` does nothing, `forget` is refused."""

    root_scope: str | None = None
    """The scope that all others are below, such as `"/customers/42"`; None for the top."""

    _records: Any = PrivateAttr(default=None)
    _book: Book | None = PrivateAttr(default=None)

    @model_validator(mode="before")
    @classmethod
    def _warn_unknown_fields(cls, data: object) -> object:
        if is_mapping(data):
            unknown = [name for name in data if name not in cls.model_fields]
            if unknown:
                names = ", ".join(f"`{name}`" for name in unknown)
                warnings.warn(
                    f"unknown arguments of `{cls.__name__}`, without effect: {names}", UserWarning, stacklevel=3
                )
        return data

    @field_validator("storage")
    @classmethod
    def _validate_storage(cls, storage: object) -> object:
        if storage is None or isinstance(storage, str):
            custom = resolve_memory_storage(_DEFAULT_STORAGE if storage is None else storage)
            storage = custom if custom is not None else None if storage in _DEFAULT_STORAGES else storage
        if storage is None or isinstance(storage, (str, Path)) or callable(getattr(storage, "search", None)):
            return storage
        raise ValueError(
            f"a `{type(storage).__name__}` is not a storage; pass a path, a LangGraph store (`InMemoryStore(index=...)`), or an "
            "object with the methods of `StorageBackend`"
        )

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """The same memory: copies of a definition remember the same."""
        return self

    @property
    def config(self) -> MemoryConfig:
        """The weights and thresholds."""
        return self

    @property
    def model(self) -> Any:
        """The model; None if there is none."""
        if self.llm is not None:
            return self.llm or None
        try:
            return default_llm()
        except NoModelError:
            return None

    @property
    def wording(self) -> Book:
        """The texts of its prompts."""
        return self._book or default_book()

    @property
    def records(self) -> "StoreRecords | BackendRecords":
        """The records, through the configured storage."""
        if self._records is None:
            self._records = self._open_records()
        return self._records

    def _open_records(self) -> object:
        from crewgraph.memory.store_records import BackendRecords, StoreRecords
        from crewgraph.storage.store.namespace import StoreNamespace, is_store
        from crewgraph.storage.vectors.resolve import embedder_of

        storage = self.storage
        if storage is not None and not isinstance(storage, (str, Path)) and not is_store(storage):
            return BackendRecords(storage, lambda: embedder_of(self.embedder))
        return StoreRecords(
            StoreNamespace("memory", storage=storage, embedder=self.embedder, of_project=storage is None)
        )

    def _memory_ref(self) -> "Memory":
        return self

    def _root(self) -> str:
        return join_scope_paths(self.root_scope, None)

    def _roots(self) -> Sequence[str]:
        return [self._root()]

    @from_program
    def update(
        self,
        record_id: str,
        content: str | None = None,
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: Metadata | None = None,
        importance: float | None = None,
    ) -> "Program[MemoryRecord]":
        """Change a record; values that are None are left as they are.

        Raises:
            ValueError: the record does not exist, or a value is invalid.
            RunError: the memory is read-only.
        """
        self._refuse_read_only("update")
        matches = yield from self.records.listing(RecordFilter(scope=self._root(), record_ids=[record_id]))
        if not matches:
            raise ValueError(f"record `{record_id}` was not found in the memory; see `list_records()`")
        changes = {"content": content, "categories": categories, "metadata": metadata, "importance": importance}
        changes["scope"] = None if scope is None else join_scope_paths(self._root(), scope)
        values = {name: value for name, value in changes.items() if value is not None}
        changed = MemoryRecord.model_validate({**matches[0].model_dump(), **values, "last_accessed": utc_now()})
        yield from self.records.replacing([changed])
        if matches[0].scope != changed.scope:
            yield from self.records.moved(matches[0])
        return changed

    aupdate = async_of(update)
    """Async `update`."""

    def scope(self, path: str) -> MemoryScope:
        """The part of the memory below a path."""
        return MemoryScope(memory=self, root_path=path)

    def slice(self, scopes: list[str], categories: list[str] | None = None, read_only: bool = True) -> MemorySlice:
        """Several scopes of the memory, read as one."""
        return MemorySlice(memory=self, scopes=scopes, categories=categories, read_only=read_only)

    def reset_all(self) -> None:
        """Delete everything, also outside `root_scope`."""
        self._refuse_read_only("reset_all")
        from crewgraph.core.operations import drive

        drive(_deletion(self, RecordFilter()))

    def drain_writes(self) -> None:
        """Wait for pending writes: there are none, as `remember` returns after saving."""

    def close(self) -> None:
        """Release the memory. Does nothing: files are shared by all memories of a process."""
