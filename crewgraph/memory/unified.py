"""Memory: texts by scope, found by meaning."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from pydantic import ConfigDict, Field, PrivateAttr, field_validator, model_validator

from crewgraph.errors import NoModelError
from crewgraph.extras import load
from crewgraph.llm.resolve import default_llm
from crewgraph.memory.paths import join_scope_paths
from crewgraph.memory.reads import adrive, drive
from crewgraph.memory.record import MemoryRecord
from crewgraph.memory.scope import MemoryScope
from crewgraph.memory.scoring import MemoryConfig
from crewgraph.memory.slice import MemorySlice
from crewgraph.memory.storage_factory import resolve_memory_storage
from crewgraph.memory.writes import MemoryWrites
from crewgraph.prompts.book import Book, english

if TYPE_CHECKING:
    from crewgraph.memory.foreign import ForeignRecords
    from crewgraph.memory.shelved import ShelvedRecords

__all__ = ["Memory"]

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
            return load("crewgraph.memory.foreign").ForeignRecords(storage, lambda: resolve.embedder_of(self.embedder))
        shelf = shelves.Shelf("memory", storage=storage, embedder=self.embedder, of_project=storage is None)
        return load("crewgraph.memory.shelved").ShelvedRecords(shelf)

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
        looking, wanted = load("crewgraph.memory.looking"), load("crewgraph.memory.wanted").Wanted
        drive(looking.forgetting(self, wanted()))

    def drain_writes(self) -> None:
        """Wait until all is kept that was remembered: it is when `remember` returns."""

    def close(self) -> None:
        """End with it. Nothing has to be done: files are shared by all memories of a process."""

    def _updating(self, record_id: str, *given: Any) -> Any:
        self._refuse_read_only("update")
        changes = dict(zip(("content", "scope", "categories", "metadata", "importance"), given, strict=True))
        return load("crewgraph.memory.looking").updating(self, self._root(), record_id, changes)
