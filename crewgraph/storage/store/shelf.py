"""A shelf: the entries of one namespace of a store, for everything that remembers or knows something.

It needs LangGraph, which takes a while to import: `crewgraph.extras.load("crewgraph.storage.store.shelf")` on first use.

Namespaces of stores: whose entries they are, and labels that any text can become.

Stores on files, opened once in a process for each path and embedder.
"""

import hashlib
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchItem,
    SearchOp,
)

from crewgraph.core.loops.bridge import in_thread
from crewgraph.core.operations import Operation, Program, adrive, drive
from crewgraph.errors import CrewgraphError, StorageError
from crewgraph.settings import storage_dir
from crewgraph.storage.store.faiss_store import FaissStore
from crewgraph.storage.vectors.embedder import NamedEmbedder
from crewgraph.storage.vectors.resolve import embedder_of

__all__ = [
    "Entry",
    "Found",
    "Shelf",
    "close_stores",
    "is_store",
    "label",
    "labels",
    "opened",
    "project",
    "store_for",
    "unlabel",
]


_ESCAPED = {"%": "%25", ".": "%2E"}
_EMPTY = "%"


def project() -> str:
    """The label that what a project keeps stands below: the name of the working directory, with a digest of its whole path.

    So two projects that share a storage folder never see each other's entries.
    """
    return _of(os.getcwd())


@lru_cache(8)
def _of(directory: str) -> str:
    folder = Path(directory).resolve()
    digest = hashlib.sha256(str(folder).encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"{label(folder.name or 'root')}-{digest}"


def label(text: str) -> str:
    """A text as one label of a namespace; different texts become different labels.

    LangGraph allows neither a dot in a label nor an empty one.
    """
    return "".join(_ESCAPED.get(sign, sign) for sign in text) or _EMPTY


def unlabel(written: str) -> str:
    """The text that a label stands for."""
    return "" if written == _EMPTY else written.replace("%2E", ".").replace("%25", "%")


def labels(texts: Iterable[str]) -> tuple[str, ...]:
    """Texts as the labels of a namespace."""
    return tuple(map(label, texts))


_FILES = (".db", ".sqlite", ".sqlite3")

_lock = threading.Lock()
_opened: dict[tuple[Path, str], FaissStore] = {}


def store_for(storage: "BaseStore | str | Path | None", file: str, embedder: Any = None) -> BaseStore:
    """The store that was asked for.

    Args:
        storage: a LangGraph store, which is taken as it is; the path of a folder or of a database file; None for the storage
            folder.
        file: the name of the database file in a folder.
        embedder: as `embedder_of` takes it; of no meaning for a store that was given.

    Raises:
        TypeError: it is none of these.
        StorageError: the file cannot be opened.
    """
    if isinstance(storage, BaseStore):
        return storage
    if storage is not None and not isinstance(storage, (str, Path)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"a `{type(storage).__name__}` is no storage; give a path, or a LangGraph store (`InMemoryStore(index=...)`, "
            "`FaissStore(...)`)"
        )
    path = storage_dir() if storage is None else Path(storage).expanduser()
    return opened(path if path.suffix in _FILES else path / file, embedder)


def opened(path: Path, embedder: Any = None) -> BaseStore:
    """The store on a file, the same one for an embedder as long as the process lives.

    Raises:
        StorageError: the file cannot be opened.
    """
    named = embedder if isinstance(embedder, NamedEmbedder) else embedder_of(embedder)
    key = (path.absolute(), named.name)
    with _lock:
        if key not in _opened:
            _opened[key] = FaissStore(path, embedder=named)
        return _opened[key]


def close_stores(folder: Path) -> None:
    """Close the stores whose files are in a folder; they are opened anew when they are needed."""
    with _lock:
        for key in [key for key in _opened if key[0].is_relative_to(folder.absolute())]:
            _opened.pop(key).close()


_TEXT = "text"
_PAGE = 1000


@dataclass(frozen=True)
class Entry:
    """Something to be kept."""

    key: str
    """What it is known by; another entry of the same key takes its place."""

    text: str
    """What is searched."""

    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What else is known of it: JSON data. In the store each of its keys is one of the value's, beside `text`."""

    below: tuple[str, ...] = ()
    """Where below the shelf's own namespace it stands."""


@dataclass(frozen=True)
class Found(Entry):
    """Something that is kept."""

    score: float | None = None
    """How near it is to what was searched for, 1 at most; None where nothing was searched for."""

    created_at: datetime | None = None
    updated_at: datetime | None = None


class Shelf:
    """Entries below one namespace of a store; each verb also for event loops, with an `a` before it.

    Whatever the store or its embedder raises becomes a `StorageError`.
    """

    def __init__(
        self,
        *namespace: str,
        storage: "BaseStore | str | Any | None" = None,
        embedder: Any = None,
        file: str = "memory.db",
        of_project: bool = True,
    ) -> None:
        """Name the shelf; nothing is opened before it is used.

        Args:
            namespace: what it is called, below the project.
            storage: a LangGraph store, a path, or None for the storage folder.
            embedder: as `embedder_of` takes it; of no meaning for a store that was given.
            file: the name of the database file in a folder.
            of_project: whether the entries are this project's alone.
        """
        self._texts, self._of_project = namespace, of_project
        self._storage, self._file, self._embedder = storage, file, embedder
        self._named: NamedEmbedder | None = None

    @property
    def namespace(self) -> tuple[str, ...]:
        """Where its entries stand."""
        return labels(self._texts) if not self._of_project else (project(), *labels(self._texts))

    @property
    def store(self) -> BaseStore:
        """Where its entries are kept.

        Raises:
            StorageError: it cannot be opened.
        """
        if self._named is None and not is_store(self._storage):
            self._named = embedder_of(self._embedder)
        # Where the storage folder is, is asked each time.
        return store_for(self._storage, self._file, self._named)

    def put(self, key: str, text: str, metadata: Mapping[str, Any] | None = None) -> None:
        """Keep something; what has this key is replaced."""
        self.put_many([Entry(key, text, metadata or {})])

    async def aput(self, key: str, text: str, metadata: Mapping[str, Any] | None = None) -> None:
        """Keep something; see `put`."""
        await self.aput_many([Entry(key, text, metadata or {})])

    def put_many(self, entries: Iterable[Entry]) -> None:
        """Keep several things at once."""
        drive(self.putting(entries))

    async def aput_many(self, entries: Iterable[Entry]) -> None:
        """Keep several things at once."""
        await adrive(self.putting(entries))

    def search(
        self,
        query: str,
        limit: int = 3,
        score_threshold: float | None = None,
        filter: Mapping[str, Any] | None = None,
        below: tuple[str, ...] = (),
    ) -> list[Found]:
        """The entries nearest to a text, the nearest first.

        Args:
            query: the text.
            limit: at most so many.
            score_threshold: how near they are at least.
            filter: what their metadata hold, with LangGraph's operators: `{"agent": "Writer", "quality": {"$gte": 5}}`.
            below: only those below this part of the shelf.
        """
        return drive(self.searching(query, limit, score_threshold, filter, below))

    async def asearch(
        self,
        query: str,
        limit: int = 3,
        score_threshold: float | None = None,
        filter: Mapping[str, Any] | None = None,
        below: tuple[str, ...] = (),
    ) -> list[Found]:
        """The entries nearest to a text; see `search`."""
        return await adrive(self.searching(query, limit, score_threshold, filter, below))

    def entries(self, filter: Mapping[str, Any] | None = None, below: tuple[str, ...] = ()) -> list[Found]:
        """All entries, those of some metadata, or those below a part of the shelf."""
        return drive(self.listing(filter, below))

    async def aentries(self, filter: Mapping[str, Any] | None = None, below: tuple[str, ...] = ()) -> list[Found]:
        """All entries; see `entries`."""
        return await adrive(self.listing(filter, below))

    def delete(self, entries: Iterable["Entry | str"]) -> int:
        """Forget entries, by themselves or by their keys; how many were named."""
        return drive(self.deleting(entries))

    async def adelete(self, entries: Iterable["Entry | str"]) -> int:
        """Forget entries; see `delete`."""
        return await adrive(self.deleting(entries))

    def reset(self) -> None:
        """Forget everything on the shelf."""
        drive(self.clearing())

    async def areset(self) -> None:
        """Forget everything on the shelf."""
        await adrive(self.clearing())

    def putting(self, entries: Iterable[Entry]) -> Program[None]:
        """The program of `put_many`."""
        yield from self._batch("be written", [self._put(entry) for entry in entries])

    def searching(
        self,
        query: str,
        limit: int,
        score_threshold: float | None = None,
        filter: Mapping[str, Any] | None = None,
        below: tuple[str, ...] = (),
        offset: int = 0,
    ) -> Program[list[Found]]:
        """The program of `search`, which may leave out those nearest."""
        if limit < 1:
            return []
        base = self.namespace
        op = SearchOp((*base, *labels(below)), _written(filter or {}) or None, limit, offset, query)
        found: list[Found] = [_found(item, len(base)) for item in (yield from self._batch("be searched", [op]))[0]]
        if any(one.score is None for one in found):
            raise StorageError(
                f"the store `{type(self.store).__name__}` does not search by meaning, so nothing can be recalled from it. "
                'Make it with an index: `InMemoryStore(index={"dims": ..., "embed": ...})`.'
            )
        return [one for one in found if score_threshold is None or cast(float, one.score) >= score_threshold]

    def listing(self, filter: Mapping[str, Any] | None = None, below: tuple[str, ...] = ()) -> Program[list[Found]]:
        """The program of `entries`."""
        base = self.namespace
        found: list[Found] = []
        while True:
            op = SearchOp((*base, *labels(below)), _written(filter or {}) or None, _PAGE, len(found))
            page = (yield from self._batch("be read", [op]))[0]
            found += [_found(item, len(base)) for item in page]
            if len(page) < _PAGE:
                return found

    def some(self, limit: int, below: tuple[str, ...] = ()) -> Program[list[Found]]:
        """Some entries; which of them, says the store."""
        base = self.namespace
        page = (yield from self._batch("be read", [SearchOp((*base, *labels(below)), None, limit)]))[0]
        return [_found(item, len(base)) for item in page]

    def getting(self, keys: Sequence[str], below: tuple[str, ...] = ()) -> Program[list[Found | None]]:
        """The entries of some keys that stand right at one place; None for those that are not there."""
        base = self.namespace
        items = yield from self._batch("be read", [GetOp((*base, *labels(below)), key) for key in keys])
        return [None if item is None else _found(item, len(base)) for item in items]

    def places(self, below: tuple[str, ...] = ()) -> Program[list[tuple[str, ...]]]:
        """Where below a part of the shelf entries stand."""
        base = self.namespace
        condition = MatchCondition("prefix", (*base, *labels(below)))
        found: list[tuple[str, ...]] = []
        while True:
            op = ListNamespacesOp((condition,), None, _PAGE, len(found))
            page = (yield from self._batch("be read", [op]))[0]
            found += [tuple(map(unlabel, namespace[len(base) :])) for namespace in page]
            if len(page) < _PAGE:
                return found

    def deleting(self, entries: Iterable["Entry | str"]) -> Program[int]:
        """The program of `delete`."""
        given = [Entry(one, "") if isinstance(one, str) else one for one in entries]
        base = self.namespace
        yield from self._batch("be written", [PutOp((*base, *labels(one.below)), one.key, None) for one in given])
        return len(given)

    def clearing(self, below: tuple[str, ...] = ()) -> Program[int]:
        """The program of `reset`; also of a part of the shelf alone. It returns how many there were."""
        return (yield from self.deleting((yield from self.listing(None, below))))

    def _put(self, entry: Entry) -> PutOp:
        value = {**_written(entry.metadata), _TEXT: entry.text}
        return PutOp((*self.namespace, *labels(entry.below)), entry.key, value, [_TEXT])

    def _batch(self, what: str, ops: Sequence[Op]) -> Program[list[Any]]:
        if not ops:
            return []
        try:
            return (yield _Batch(self, ops))
        except CrewgraphError:
            raise
        except Exception as error:
            raise StorageError(
                f"`{'/'.join(self._texts)}` could not {what}: {type(error).__name__}: {error}"
            ) from error


class _Batch(Operation):
    def __init__(self, shelf: Shelf, ops: Sequence[Op]) -> None:
        self.shelf, self.ops = shelf, ops

    def run(self) -> Any:
        return self.shelf.store.batch(self.ops)

    async def arun(self) -> Any:
        store = await in_thread(getattr, self.shelf, "store")  # opening it reads files
        return await store.abatch(self.ops)


def _written(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata as they stand in a value, where `text` is taken."""
    return {f"{key}_" if key.rstrip("_") == _TEXT else key: one for key, one in metadata.items()}


def _read(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key[:-1] if key.rstrip("_") == _TEXT else key: one for key, one in value.items() if key != _TEXT}


def _found(item: "Item | SearchItem", base: int) -> Found:
    return Found(
        key=item.key,
        text=item.value.get(_TEXT, ""),
        metadata=_read(item.value),
        below=tuple(map(unlabel, item.namespace[base:])),
        score=getattr(item, "score", None),
        created_at=item.created_at,
        updated_at=item.updated_at,
    )


def is_store(given: object) -> bool:
    """Whether something is a LangGraph store."""
    return isinstance(given, BaseStore)
