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
from crewgraph.memory.query import Wanted
from crewgraph.memory.records import MemoryConfig, MemoryMatch, MemoryRecord, ScopeInfo, join_scope_paths, parts_of
from crewgraph.prompts.book import Book, english

if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import BaseTool

    from crewgraph.memory.custom_storage import ForeignRecords
    from crewgraph.memory.store_records import ShelvedRecords

__all__ = ["Depth", "Memory", "MemoryReads", "MemoryScope", "MemorySlice", "MemoryWrites", "adrive", "drive"]


Depth = Literal["shallow", "deep"]
"""How thoroughly is looked."""


def drive(program: Any) -> Any:
    """Carry out a program."""
    return load("crewgraph.core.operations").drive(program)


async def adrive(program: Any) -> Any:
    """Carry out a program on this event loop."""
    return await load("crewgraph.core.operations").adrive(program)


class MemoryReads(ABC):
    """Recalling and looking. Each verb is also there for event loops, with an `a` before it.

    All raise `StorageError` where what is kept cannot be read.
    """

    @abstractmethod
    def _of(self) -> "Memory":
        """The memory that is asked."""

    @abstractmethod
    def _roots(self) -> Sequence[str]:
        """The scopes that can be seen."""

    def _places(self, scope: str | None) -> list[str]:
        """The scopes that a path of the caller's means."""
        return [join_scope_paths(root, scope) for root in self._roots()]

    def _kinds(self, categories: Sequence[str] | None) -> Sequence[str] | None:
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
        return drive(self._recalling(query, scope, categories, limit, depth, source, include_private))

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
        return await adrive(self._recalling(query, scope, categories, limit, depth, source, include_private))

    def extract_memories(self, content: str) -> list[str]:
        """What is worth remembering of a text, by the model; the text itself where there is none. Nothing is kept."""
        return drive(load("crewgraph.memory.saving").extracted(self._of(), content))

    async def aextract_memories(self, content: str) -> list[str]:
        """What is worth remembering of a text; see `extract_memories`."""
        return await adrive(load("crewgraph.memory.saving").extracted(self._of(), content))

    def list_records(self, scope: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """The records of a scope and of those below it, the newest first."""
        return drive(self._listing(scope))[offset : offset + limit]

    async def alist_records(self, scope: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """The records of a scope; see `list_records`."""
        return (await adrive(self._listing(scope)))[offset : offset + limit]

    def list_scopes(self, path: str | None = None) -> list[str]:
        """The whole paths of the scopes right below a scope."""
        return drive(load("crewgraph.memory.queries").children(self._of(), self._places(path)))

    async def alist_scopes(self, path: str | None = None) -> list[str]:
        """The scopes right below a scope; see `list_scopes`."""
        return await adrive(load("crewgraph.memory.queries").children(self._of(), self._places(path)))

    def list_categories(self, path: str | None = None) -> dict[str, int]:
        """How many records of a scope, and of those below it, there are of each category."""
        return drive(load("crewgraph.memory.queries").categories(self._of(), self._places(path)))

    async def alist_categories(self, path: str | None = None) -> dict[str, int]:
        """How many records there are of each category; see `list_categories`."""
        return await adrive(load("crewgraph.memory.queries").categories(self._of(), self._places(path)))

    def info(self, path: str | None = None) -> ScopeInfo:
        """What there is in a scope and below it."""
        return drive(self._describing(path))

    async def ainfo(self, path: str | None = None) -> ScopeInfo:
        """What there is in a scope and below it; see `info`."""
        return await adrive(self._describing(path))

    def tree(self, path: str | None = None, max_depth: int = 3) -> str:
        """The scopes below a scope with their numbers of records, as a text with a line for each."""
        return drive(self._drawing(path, max_depth))

    async def atree(self, path: str | None = None, max_depth: int = 3) -> str:
        """The scopes below a scope as a text; see `tree`."""
        return await adrive(self._drawing(path, max_depth))

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
        given: dict[str, Any] = {"limit": limit, "depth": depth, **words}
        documents = load("crewgraph.memory.queries").documents

        def search(query: str) -> Any:
            return documents(self.recall(query, **given))

        async def asearch(query: str) -> Any:
            return documents(await self.arecall(query, **given))

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
        told = description or load("crewgraph.prompts.book").english().text("tools", "recall_memory")
        return retriever.as_tool(self.as_retriever(limit, **words), name, told)

    def _recalling(
        self,
        query: str,
        scope: str | None,
        categories: Sequence[str] | None,
        limit: int,
        depth: Depth,
        source: str | None,
        include_private: bool,
    ) -> Any:
        recalling, places = load("crewgraph.memory.recall"), self._places(scope)
        asked = recalling.Asked(
            query=query,
            places=places,
            categories=self._kinds(categories),
            limit=limit if places else 0,
            depth=depth,
            source=source,
            include_private=include_private,
        )
        return recalling.recalling(self._of(), asked)

    def _listing(self, scope: str | None) -> Any:
        return load("crewgraph.memory.queries").listed(self._of(), self._places(scope))

    def _describing(self, path: str | None) -> Any:
        places = self._places(path)
        return load("crewgraph.memory.queries").described(self._of(), _shown(places, path), places)

    def _drawing(self, path: str | None, max_depth: int) -> Any:
        places = self._places(path)
        return load("crewgraph.memory.queries").drawn(self._of(), _shown(places, path), places, max_depth)


def _shown(places: Sequence[str], path: str | None) -> str:
    return places[0] if len(places) == 1 else "/" + "/".join(parts_of(path))


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
        words = self._words(scope, categories, metadata, importance, source, private, agent_role, root_scope)
        kept = drive(self._remembering([content], words))
        return kept[0] if kept else None

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
        words = self._words(scope, categories, metadata, importance, source, private, agent_role, root_scope)
        kept = await adrive(self._remembering([content], words))
        return kept[0] if kept else None

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
        words = self._words(scope, categories, metadata, importance, source, private, agent_role, root_scope)
        return drive(self._remembering(contents, words))

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
        words = self._words(scope, categories, metadata, importance, source, private, agent_role, root_scope)
        return await adrive(self._remembering(contents, words))

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
        return drive(self._forgetting(scope, categories, older_than, metadata_filter, record_ids))

    async def aforget(
        self,
        scope: str | None = None,
        categories: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
        record_ids: list[str] | None = None,
    ) -> int:
        """Forget records; see `forget`."""
        return await adrive(self._forgetting(scope, categories, older_than, metadata_filter, record_ids))

    def reset(self, scope: str | None = None) -> None:
        """Forget everything, or all of a scope.

        Raises:
            RunError: the memory is read-only.
        """
        self.forget(scope)

    async def areset(self, scope: str | None = None) -> None:
        """Forget everything; see `reset`."""
        await self.aforget(scope)

    def _words(
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

    def _remembering(self, contents: Sequence[str], words: dict[str, Any]) -> Any:
        remembering, memory = load("crewgraph.memory.saving"), self._of()
        given = remembering.Given(contents=[] if memory.read_only else list(contents), **words)
        return remembering.remembering(memory, given)

    def _forgetting(
        self,
        scope: str | None,
        categories: Sequence[str] | None,
        older_than: datetime | None,
        metadata: dict[str, Any] | None,
        record_ids: Sequence[str] | None,
    ) -> Any:
        self._refuse_read_only("forget")
        place = join_scope_paths(self._root(), scope)
        wanted = Wanted(
            scope=place, categories=categories, older_than=older_than, metadata=metadata, record_ids=record_ids
        )
        return load("crewgraph.memory.queries").forgetting(self._of(), wanted)

    def _refuse_read_only(self, verb: str) -> None:
        if self._of().read_only:
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

    def __init__(self, memory: "Memory | None" = None, **given: Any) -> None:
        """Take a part of a memory.

        Args:
            memory: the memory; None until `bind`.
            given: `root_path`.
        """
        super().__init__(**given)
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
        return self._of().read_only

    def bind(self, memory: "Memory") -> Self:
        """Say of which memory it is a part."""
        self._memory = memory
        return self

    def subscope(self, path: str) -> "MemoryScope":
        """A part of this part."""
        return MemoryScope(memory=self._of(), root_path=join_scope_paths(self.root_path, path))

    def _of(self) -> "Memory":
        if self._memory is None:
            raise RunError(
                f"the scope `{self.root_path}` is of no memory yet: take it with `memory.scope(...)`, or `bind` it"
            )
        return self._memory

    def _root(self) -> str:
        return join_scope_paths(self._of().root_scope, self.root_path)

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

    def __init__(self, memory: "Memory | None" = None, **given: Any) -> None:
        """Take parts of a memory.

        Args:
            memory: the memory; None until `bind`.
            given: `scopes`, `categories`, `read_only`.
        """
        super().__init__(**given)
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
        return self._of().remember(content, self._own(scope), categories, metadata, importance, source, private)

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
        return await self._of().aremember(content, self._own(scope), categories, metadata, importance, source, private)

    def _of(self) -> "Memory":
        if self._memory is None:
            raise RunError("the slice is of no memory yet: take it with `memory.slice([...])`, or `bind` it")
        return self._memory

    def _roots(self) -> Sequence[str]:
        return [join_scope_paths(self._of().root_scope, path) for path in self.scopes]

    def _places(self, scope: str | None) -> list[str]:
        """The scopes below a path of the memory's; where it is one of them, or below one, the path itself."""
        asked = parts_of(join_scope_paths(self._of().root_scope, scope))
        roots = {root: parts_of(root) for root in self._roots()}
        if any(asked[: len(parts)] == parts for parts in roots.values()):
            return ["/" + "/".join(asked)]
        return [root for root, parts in roots.items() if parts[: len(asked)] == asked]

    def _kinds(self, categories: Sequence[str] | None) -> Sequence[str] | None:
        return self.categories if categories is None else categories

    def _own(self, scope: str) -> str:
        parts = parts_of(scope)
        if not any(parts[: len(own)] == own for own in map(parts_of, self.scopes)):
            known = ", ".join(f"`{path}`" for path in self.scopes)
            raise ValueError(f"the scope `{scope}` is none of the slice's, which are {known}")
        return scope


_USUAL = "lancedb"
_DEFAULT_STORAGES = (_USUAL, "qdrant-edge")


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
    def _known_words(cls, given: Any) -> Any:
        if isinstance(given, Mapping):
            words = cast("Mapping[str, Any]", given)
            unknown = [name for name in words if name not in cls.model_fields]
            if unknown:
                told = ", ".join(f"`{name}`" for name in unknown)
                warnings.warn(f"`{cls.__name__}` does not know {told}: without effect", UserWarning, stacklevel=3)
        return given  # pyright: ignore[reportUnknownVariableType]

    @field_validator("storage")
    @classmethod
    def _some_storage(cls, given: Any) -> Any:
        if given is None or isinstance(given, str):
            made = resolve_memory_storage(_USUAL if given is None else given)
            given = made if made is not None else None if given in _DEFAULT_STORAGES else given
        if given is None or isinstance(given, (str, Path)) or callable(getattr(given, "search", None)):
            return given
        raise ValueError(
            f"a `{type(given).__name__}` is no storage; give a path, a LangGraph store (`InMemoryStore(index=...)`), or an "
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
    def records(self) -> "ShelvedRecords | ForeignRecords":
        """What keeps its records, as programs."""
        if self._records is None:
            self._records = self._kept()
        return self._records

    def _kept(self) -> Any:
        shelves = load("crewgraph.storage.store.shelf")
        storage = self.storage
        if storage is not None and not isinstance(storage, (str, Path)) and not shelves.is_store(storage):
            resolve = load("crewgraph.storage.vectors.resolve")
            return load("crewgraph.memory.custom_storage").ForeignRecords(
                storage, lambda: resolve.embedder_of(self.embedder)
            )
        shelf = shelves.Shelf("memory", storage=storage, embedder=self.embedder, of_project=storage is None)
        return load("crewgraph.memory.store_records").ShelvedRecords(shelf)

    def _of(self) -> "Memory":
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
        return drive(self._updating(record_id, content, scope, categories, metadata, importance))

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
        return await adrive(self._updating(record_id, content, scope, categories, metadata, importance))

    def scope(self, path: str) -> MemoryScope:
        """The part of the memory below a path."""
        return MemoryScope(memory=self, root_path=path)

    def slice(self, scopes: list[str], categories: list[str] | None = None, read_only: bool = True) -> MemorySlice:
        """Several parts of the memory, to be read as one."""
        return MemorySlice(memory=self, scopes=scopes, categories=categories, read_only=read_only)

    def reset_all(self) -> None:
        """Forget everything, also what is not below `root_scope`."""
        self._refuse_read_only("reset_all")
        looking, wanted = load("crewgraph.memory.queries"), load("crewgraph.memory.query").Wanted
        drive(looking.forgetting(self, wanted()))

    def drain_writes(self) -> None:
        """Wait until all is kept that was remembered: it is when `remember` returns."""

    def close(self) -> None:
        """End with it. Nothing has to be done: files are shared by all memories of a process."""

    def _updating(self, record_id: str, *given: Any) -> Any:
        self._refuse_read_only("update")
        changes = dict(zip(("content", "scope", "categories", "metadata", "importance"), given, strict=True))
        return load("crewgraph.memory.queries").updating(self, self._root(), record_id, changes)
