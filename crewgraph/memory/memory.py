"""Memory: texts by scope, found by meaning.

What can be asked of a memory, of a scope of one, and of a slice of one.

What can be done with a memory, and with a scope of one.

A part of a memory: a scope and all below it.

Several parts of a memory, read as one.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator, model_validator

from crewgraph.errors import NoModelError, RunError
from crewgraph.extras import load
from crewgraph.llm.resolve import default_llm
from crewgraph.memory.backend import resolve_memory_storage
from crewgraph.memory.query import RecordFilter
from crewgraph.memory.records import MemoryConfig, MemoryMatch, MemoryRecord, ScopeInfo, join_scope_paths, scope_parts
from crewgraph.prompts.book import Book, english

if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import BaseTool

    from crewgraph.memory.custom_storage import BackendRecords
    from crewgraph.memory.store_records import StoreRecords

__all__ = [
    "Depth",
    "Memory",
    "MemoryReads",
    "MemoryScope",
    "MemorySlice",
    "MemoryWrites",
    "arun_program",
    "run_program",
]


Depth = Literal["shallow", "deep"]
"""How thoroughly is looked."""


def run_program(program: Any) -> Any:
    """Carry out a program."""
    return load("crewgraph.core.operations").drive(program)


async def arun_program(program: Any) -> Any:
    """Carry out a program on this event loop."""
    return await load("crewgraph.core.operations").adrive(program)


class MemoryReads(ABC):
    """Recalling and looking. Each verb is also there for event loops, with an `a` before it.

    All raise `StorageError` where what is kept cannot be read.
    """

    @abstractmethod
    def _memory_ref(self) -> "Memory":
        """The memory that is asked."""

    @abstractmethod
    def _roots(self) -> Sequence[str]:
        """The scopes that can be seen."""

    def _resolve_scope(self, scope: str | None) -> list[str]:
        """The scopes that a path of the caller's means."""
        return [join_scope_paths(root, scope) for root in self._roots()]

    def _effective_categories(self, categories: Sequence[str] | None) -> Sequence[str] | None:
        return categories

    def recall(
        self,
        query: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        limit: int = 10,
        depth: Depth = "deep",
        source: str | None = None,
        include_private: bool = False,
    ) -> list[MemoryMatch]:
        """What is remembered that fits a query, the best first.

        Args:
            query: what is looked for, in words.
            scope: only this scope and those below it.
            categories: only records of at least one of these.
            limit: at most so many.
            depth: "shallow" searches once; "deep" has the model, if there is one, take a long query apart, and look once more
                where little was found.
            source: whose private records count, too.
            include_private: whether all private records count.
        """
        return run_program(self._recall_program(query, scope, categories, limit, depth, source, include_private))

    async def arecall(
        self,
        query: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        limit: int = 10,
        depth: Depth = "deep",
        source: str | None = None,
        include_private: bool = False,
    ) -> list[MemoryMatch]:
        """What is remembered that fits a query; see `recall`."""
        return await arun_program(self._recall_program(query, scope, categories, limit, depth, source, include_private))

    def extract_memories(self, content: str) -> list[str]:
        """What is worth remembering of a text, by the model; the text itself where there is none. Nothing is kept."""
        return run_program(self._extraction_program(content))

    async def aextract_memories(self, content: str) -> list[str]:
        """What is worth remembering of a text; see `extract_memories`."""
        return await arun_program(self._extraction_program(content))

    def list_records(self, scope: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """The records of a scope and of those below it, the newest first."""
        return run_program(self._listing_program(scope))[offset : offset + limit]

    async def alist_records(self, scope: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """The records of a scope; see `list_records`."""
        return (await arun_program(self._listing_program(scope)))[offset : offset + limit]

    def list_scopes(self, path: str | None = None) -> list[str]:
        """The whole paths of the scopes right below a scope."""
        return run_program(
            load("crewgraph.memory.queries").child_scopes_program(self._memory_ref(), self._resolve_scope(path))
        )

    async def alist_scopes(self, path: str | None = None) -> list[str]:
        """The scopes right below a scope; see `list_scopes`."""
        return await arun_program(
            load("crewgraph.memory.queries").child_scopes_program(self._memory_ref(), self._resolve_scope(path))
        )

    def list_categories(self, path: str | None = None) -> dict[str, int]:
        """How many records of a scope, and of those below it, there are of each category."""
        return run_program(
            load("crewgraph.memory.queries").categories_program(self._memory_ref(), self._resolve_scope(path))
        )

    async def alist_categories(self, path: str | None = None) -> dict[str, int]:
        """How many records there are of each category; see `list_categories`."""
        return await arun_program(
            load("crewgraph.memory.queries").categories_program(self._memory_ref(), self._resolve_scope(path))
        )

    def info(self, path: str | None = None) -> ScopeInfo:
        """What there is in a scope and below it."""
        return run_program(self._info_program(path))

    async def ainfo(self, path: str | None = None) -> ScopeInfo:
        """What there is in a scope and below it; see `info`."""
        return await arun_program(self._info_program(path))

    def tree(self, path: str | None = None, max_depth: int = 3) -> str:
        """The scopes below a scope with their numbers of records, as a text with a line for each."""
        return run_program(self._tree_program(path, max_depth))

    async def atree(self, path: str | None = None, max_depth: int = 3) -> str:
        """The scopes below a scope as a text; see `tree`."""
        return await arun_program(self._tree_program(path, max_depth))

    def as_retriever(self, limit: int = 4, depth: Depth = "shallow", **words: Any) -> "BaseRetriever":
        """The memory as a LangChain retriever, for chains and graphs.

        Args:
            limit: at most so many documents.
            depth: as for `recall`.
            words: `scope`, `categories`, `source`, `include_private`, as for `recall`.

        Returns:
            A retriever whose documents have the contents, with `score`, `scope`, `categories`, `id`, `source` and `importance`
            in their metadata beside what was noted.
        """
        arguments: dict[str, Any] = {"limit": limit, "depth": depth, **words}
        documents = load("crewgraph.memory.queries").match_documents

        def search(query: str) -> Any:
            return documents(self.recall(query, **arguments))

        async def asearch(query: str) -> Any:
            return documents(await self.arecall(query, **arguments))

        return load("crewgraph.storage.store.retriever").Retriever(search=search, asearch=asearch)

    def as_tool(
        self, name: str = "search_memory", description: str | None = None, limit: int = 4, **words: Any
    ) -> "BaseTool":
        """The memory as a LangChain tool that takes a `query`, for any agent.

        Args:
            name: what models call it.
            description: what models are told of it.
            limit: at most so many texts.
            words: as for `as_retriever`.
        """
        retriever = load("crewgraph.storage.store.retriever")
        tool_description = description or load("crewgraph.prompts.book").english().text("tools", "recall_memory")
        return retriever.retriever_tool(self.as_retriever(limit, **words), name, tool_description)

    def _recall_program(
        self,
        query: str,
        scope: str | None,
        categories: Sequence[str] | None,
        limit: int,
        depth: Depth,
        source: str | None,
        include_private: bool,
    ) -> Any:
        recall, places = load("crewgraph.memory.recall"), self._resolve_scope(scope)
        request = recall.RecallRequest(
            query=query,
            places=places,
            categories=self._effective_categories(categories),
            limit=limit if places else 0,
            depth=depth,
            source=source,
            include_private=include_private,
        )
        return recall.recall_program(self._memory_ref(), request)

    def _extraction_program(self, content: str) -> Any:
        memory = self._memory_ref()
        return load("crewgraph.memory.analyze").extraction_program(content, memory.model, memory.wording)

    def _listing_program(self, scope: str | None) -> Any:
        return load("crewgraph.memory.queries").listing_program(self._memory_ref(), self._resolve_scope(scope))

    def _info_program(self, path: str | None) -> Any:
        places = self._resolve_scope(path)
        return load("crewgraph.memory.queries").scope_info_program(
            self._memory_ref(), _display_path(places, path), places
        )

    def _tree_program(self, path: str | None, max_depth: int) -> Any:
        places = self._resolve_scope(path)
        return load("crewgraph.memory.queries").tree_program(
            self._memory_ref(), _display_path(places, path), places, max_depth
        )


def _display_path(places: Sequence[str], path: str | None) -> str:
    return places[0] if len(places) == 1 else "/" + "/".join(scope_parts(path))


class MemoryWrites(MemoryReads):
    """Remembering and forgetting. Each verb is also there for event loops, with an `a` before it.

    All raise `StorageError` where what is kept cannot be read or written.
    """

    @abstractmethod
    def _root(self) -> str:
        """The scope that all of it is below."""

    def _scope(self, scope: str | None) -> str | None:
        """The scope below it; None where a model is to say it."""
        return scope

    def remember(
        self,
        content: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        agent_role: str | None = None,
        root_scope: str | None = None,
    ) -> MemoryRecord | None:
        """Remember something: when this returns, it is kept.

        What is not given of `scope`, `categories` and `importance` says the model, if there is one; else it is the root, none
        and `default_importance`. What is remembered already, in the same words, scope, source and privacy, stays one record.
        Records that are much like it are merged as the model says.

        Args:
            content: what, in words.
            scope: where it belongs: a path.
            categories: what it is about.
            metadata: what else is known of it: JSON data.
            importance: how much it matters, 0 to 1.
            source: who it comes from.
            private: whether only that source recalls it.
            agent_role: the agent that remembers, for events.
            root_scope: the scope that `scope` is read from, instead of the memory's own.

        Returns:
            The record that holds it now; None where the memory is read-only.

        Raises:
            TypeError: the metadata are no JSON data.
            ValueError: a value does not fit.
        """
        options = self._save_options(scope, categories, metadata, importance, source, private, agent_role, root_scope)
        records = run_program(self._save_program([content], options))
        return records[0] if records else None

    async def aremember(
        self,
        content: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        agent_role: str | None = None,
        root_scope: str | None = None,
    ) -> MemoryRecord | None:
        """Remember something; see `remember`."""
        options = self._save_options(scope, categories, metadata, importance, source, private, agent_role, root_scope)
        records = await arun_program(self._save_program([content], options))
        return records[0] if records else None

    def remember_many(
        self,
        contents: list[str],
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        agent_role: str | None = None,
        root_scope: str | None = None,
    ) -> list[MemoryRecord]:
        """Remember several things, with one write: when this returns, they are kept. See `remember`."""
        options = self._save_options(scope, categories, metadata, importance, source, private, agent_role, root_scope)
        return run_program(self._save_program(contents, options))

    async def aremember_many(
        self,
        contents: list[str],
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        agent_role: str | None = None,
        root_scope: str | None = None,
    ) -> list[MemoryRecord]:
        """Remember several things; see `remember_many`."""
        options = self._save_options(scope, categories, metadata, importance, source, private, agent_role, root_scope)
        return await arun_program(self._save_program(contents, options))

    def forget(
        self,
        scope: str | None = None,
        categories: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
        record_ids: list[str] | None = None,
    ) -> int:
        """Forget the records that meet all that is given; with nothing given, everything.

        Args:
            scope: those of this scope and of those below it.
            categories: those of at least one of these.
            older_than: those remembered before; a time without a zone is in UTC.
            metadata_filter: those that have all of these values.
            record_ids: those of these ids.

        Returns:
            How many there were.

        Raises:
            RunError: the memory is read-only.
        """
        return run_program(self._deletion_program(scope, categories, older_than, metadata_filter, record_ids))

    async def aforget(
        self,
        scope: str | None = None,
        categories: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
        record_ids: list[str] | None = None,
    ) -> int:
        """Forget records; see `forget`."""
        return await arun_program(self._deletion_program(scope, categories, older_than, metadata_filter, record_ids))

    def reset(self, scope: str | None = None) -> None:
        """Forget everything, or all of a scope.

        Raises:
            RunError: the memory is read-only.
        """
        self.forget(scope)

    async def areset(self, scope: str | None = None) -> None:
        """Forget everything; see `reset`."""
        await self.aforget(scope)

    def _save_options(
        self,
        scope: str | None,
        categories: Sequence[str] | None,
        metadata: dict[str, Any] | None,
        importance: float | None,
        source: str | None,
        private: bool,
        agent_role: str | None,
        root_scope: str | None,
    ) -> dict[str, Any]:
        return {
            "root": self._root() if root_scope is None else join_scope_paths(root_scope, None),
            "scope": self._scope(scope),
            "categories": categories,
            "metadata": metadata,
            "importance": importance,
            "source": source,
            "private": private,
            "agent_role": agent_role,
        }

    def _save_program(self, contents: Sequence[str], options: dict[str, Any]) -> Any:
        saving, memory = load("crewgraph.memory.saving"), self._memory_ref()
        request = saving.SaveRequest(contents=[] if memory.read_only else list(contents), **options)
        return saving.save_program(memory, request)

    def _deletion_program(
        self,
        scope: str | None,
        categories: Sequence[str] | None,
        older_than: datetime | None,
        metadata: dict[str, Any] | None,
        record_ids: Sequence[str] | None,
    ) -> Any:
        self._refuse_read_only("forget")
        path = join_scope_paths(self._root(), scope)
        record_filter = RecordFilter(
            scope=path, categories=categories, older_than=older_than, metadata=metadata, record_ids=record_ids
        )
        return load("crewgraph.memory.queries").deletion_program(self._memory_ref(), record_filter)

    def _refuse_read_only(self, verb: str) -> None:
        if self._memory_ref().read_only:
            raise RunError(f"`{verb}` on a read-only memory: make it with `read_only=False` to change what it holds")


class MemoryScope(MemoryWrites, BaseModel):
    """A memory that sees and writes only what is below a path: `memory.scope("/agent/writer")`.

    Paths that it is given are read from there, whatever they look like; those that it gives are whole.
    """

    memory_kind: Literal["scope"] = "scope"
    """Tells it from memories and slices where it is dumped."""

    root_path: str = "/"
    """Where it begins."""

    _memory: "Memory | None" = PrivateAttr(default=None)

    def __init__(self, memory: "Memory | None" = None, **data: Any) -> None:
        """Take a part of a memory.

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
        """Whether nothing is written."""
        return self._memory_ref().read_only

    def bind(self, memory: "Memory") -> Self:
        """Say of which memory it is a part."""
        self._memory = memory
        return self

    def subscope(self, path: str) -> "MemoryScope":
        """A part of this part."""
        return MemoryScope(memory=self._memory_ref(), root_path=join_scope_paths(self.root_path, path))

    def _memory_ref(self) -> "Memory":
        if self._memory is None:
            raise RunError(
                f"the scope `{self.root_path}` is of no memory yet: take it with `memory.scope(...)`, or `bind` it"
            )
        return self._memory

    def _root(self) -> str:
        return join_scope_paths(self._memory_ref().root_scope, self.root_path)

    def _roots(self) -> Sequence[str]:
        return [self._root()]

    def _scope(self, scope: str | None) -> str | None:
        return scope or "/"  # where it belongs is said by taking this part


class MemorySlice(MemoryReads, BaseModel):
    """A memory that sees some scopes and what is below them: `memory.slice(["/agent/writer", "/company"])`."""

    memory_kind: Literal["slice"] = "slice"
    """Tells it from memories and scopes where it is dumped."""

    scopes: list[str] = Field(default_factory=list[str])
    """Where it looks."""

    categories: list[str] | None = None
    """What it recalls, unless it is told otherwise: only records of at least one of these."""

    read_only: bool = True
    """Whether nothing is written."""

    _memory: "Memory | None" = PrivateAttr(default=None)

    def __init__(self, memory: "Memory | None" = None, **data: Any) -> None:
        """Take parts of a memory.

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
        """Say of which memory they are parts."""
        self._memory = memory
        return self

    def remember(
        self,
        content: str,
        scope: str,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
    ) -> MemoryRecord | None:
        """Remember something in one of the scopes, or below one; see `Memory.remember`.

        Returns:
            The record; None where the slice is read-only.

        Raises:
            ValueError: the scope is none of the slice's.
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
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
    ) -> MemoryRecord | None:
        """Remember something in one of the scopes; see `remember`."""
        if self.read_only:
            return None
        return await self._memory_ref().aremember(
            content, self._check_scope(scope), categories, metadata, importance, source, private
        )

    def _memory_ref(self) -> "Memory":
        if self._memory is None:
            raise RunError("the slice is of no memory yet: take it with `memory.slice([...])`, or `bind` it")
        return self._memory

    def _roots(self) -> Sequence[str]:
        return [join_scope_paths(self._memory_ref().root_scope, path) for path in self.scopes]

    def _resolve_scope(self, scope: str | None) -> list[str]:
        """The scopes below a path of the memory's; where it is one of them, or below one, the path itself."""
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
            raise ValueError(f"the scope `{scope}` is none of the slice's, which are {scopes}")
        return scope


_DEFAULT_STORAGE = "lancedb"
_DEFAULT_STORAGES = (_DEFAULT_STORAGE, "qdrant-edge")


class Memory(MemoryWrites, MemoryConfig):
    """What crews, agents, flows and programs remember.

        memory = Memory()
        memory.remember("The harbour master is called Ines.", scope="/people")
        memory.recall("who runs the harbour?")

    Memories of the same project and storage see the same records. It needs neither a key nor a model.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, validate_assignment=False)

    memory_kind: Literal["memory"] = "memory"
    """Tells it from scopes and slices where it is dumped."""

    llm: Any = None
    """Who says where things belong: anything that an agent takes as `llm`. None is the model that the environment names, and none
    where it names none; False is none."""

    storage: Any = Field(default=None, validate_default=True)
    """Where it is kept: a path, a LangGraph store (which has to search by meaning), or a `StorageBackend`; None for the storage
    folder, where each project has records of its own."""

    embedder: Any = None
    """What turns texts into vectors; None is a local one, without a key. Of no meaning for a LangGraph store."""

    query_analysis_threshold: int = Field(default=200, ge=0)
    """Queries of so many characters are first taken apart by the model."""

    read_only: bool = False
    """Whether nothing is written: `remember` does nothing then, `forget` is refused."""

    root_scope: str | None = None
    """The scope that all others are below."""

    _records: Any = PrivateAttr(default=None)
    _book: Book | None = PrivateAttr(default=None)

    @model_validator(mode="before")
    @classmethod
    def _warn_unknown_fields(cls, data: Any) -> Any:
        if isinstance(data, Mapping):
            fields = cast("Mapping[str, Any]", data)
            unknown = [name for name in fields if name not in cls.model_fields]
            if unknown:
                names = ", ".join(f"`{name}`" for name in unknown)
                warnings.warn(f"`{cls.__name__}` does not know {names}: without effect", UserWarning, stacklevel=3)
        return data  # pyright: ignore[reportUnknownVariableType]

    @field_validator("storage")
    @classmethod
    def _validate_storage(cls, storage: Any) -> Any:
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
        """How it weighs and merges."""
        return self

    @property
    def model(self) -> Any:
        """Who is asked; None where there is none."""
        if self.llm is not None:
            return self.llm or None
        try:
            return default_llm()
        except NoModelError:
            return None

    @property
    def wording(self) -> Book:
        """The texts of its requests."""
        return self._book or english()

    @property
    def records(self) -> "StoreRecords | BackendRecords":
        """What keeps its records, as programs."""
        if self._records is None:
            self._records = self._open_records()
        return self._records

    def _open_records(self) -> Any:
        stores = load("crewgraph.storage.store.namespace")
        storage = self.storage
        if storage is not None and not isinstance(storage, (str, Path)) and not stores.is_store(storage):
            resolve = load("crewgraph.storage.vectors.resolve")
            return load("crewgraph.memory.custom_storage").BackendRecords(
                storage, lambda: resolve.embedder_of(self.embedder)
            )
        namespace = stores.StoreNamespace("memory", storage=storage, embedder=self.embedder, of_project=storage is None)
        return load("crewgraph.memory.store_records").StoreRecords(namespace)

    def _memory_ref(self) -> "Memory":
        return self

    def _root(self) -> str:
        return join_scope_paths(self.root_scope, None)

    def _roots(self) -> Sequence[str]:
        return [self._root()]

    def update(
        self,
        record_id: str,
        content: str | None = None,
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
    ) -> MemoryRecord:
        """Change a record; what is not given stays.

        Raises:
            ValueError: there is no such record, or a value does not fit.
            RunError: the memory is read-only.
        """
        return run_program(self._update_program(record_id, content, scope, categories, metadata, importance))

    async def aupdate(
        self,
        record_id: str,
        content: str | None = None,
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
    ) -> MemoryRecord:
        """Change a record; see `update`."""
        return await arun_program(self._update_program(record_id, content, scope, categories, metadata, importance))

    def scope(self, path: str) -> MemoryScope:
        """The part of the memory below a path."""
        return MemoryScope(memory=self, root_path=path)

    def slice(self, scopes: list[str], categories: list[str] | None = None, read_only: bool = True) -> MemorySlice:
        """Several parts of the memory, to be read as one."""
        return MemorySlice(memory=self, scopes=scopes, categories=categories, read_only=read_only)

    def reset_all(self) -> None:
        """Forget everything, also what is not below `root_scope`."""
        self._refuse_read_only("reset_all")
        looking, wanted = load("crewgraph.memory.queries"), load("crewgraph.memory.query").RecordFilter
        run_program(looking.forgetting(self, wanted()))

    def drain_writes(self) -> None:
        """Wait until all is kept that was remembered: it is when `remember` returns."""

    def close(self) -> None:
        """End with it. Nothing has to be done: files are shared by all memories of a process."""

    def _update_program(self, record_id: str, *values: Any) -> Any:
        self._refuse_read_only("update")
        changes = dict(zip(("content", "scope", "categories", "metadata", "importance"), values, strict=True))
        return load("crewgraph.memory.queries").update_program(self, self._root(), record_id, changes)
