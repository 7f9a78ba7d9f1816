"""The entries of one namespace of a LangGraph store, for memory and knowledge.

Also the stores themselves, opened once per process, path and embedder. It imports LangGraph, which takes a while: import it
where it is needed.
"""

import hashlib
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache, partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

from crewgraph.core.loops.bridge import in_thread, off_loop
from crewgraph.core.operations import Do, Program, adrive, drive
from crewgraph.disk import absolute_path
from crewgraph.errors import CrewgraphError, StorageError
from crewgraph.schema import PlainMapping
from crewgraph.settings import storage_dir

if TYPE_CHECKING:
    from crewgraph.storage.store.faiss_store import FaissStore
    from crewgraph.storage.vectors.embedder import NamedEmbedder


_ESCAPED = {"%": "%25", ".": "%2E"}
_EMPTY = "%"


def project_label() -> str:
    """The label of the current project: the working directory's name with a digest of its whole path.

    So two projects that share a storage folder never see each other's entries.
    """
    here = os.stat(".")
    return _directory_label(here.st_dev, here.st_ino)


@lru_cache(8)
def _directory_label(device: int, number: int) -> str:
    folder = Path(off_loop(absolute_path, ".")).resolve()
    digest = hashlib.sha256(str(folder).encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"{escape_label(folder.name or 'root')}-{digest}"


def escape_label(text: str) -> str:
    """Encode a text as one label of a namespace; different texts have different labels.

    LangGraph allows neither a period in a label nor an empty one.
    """
    return "".join(_ESCAPED.get(sign, sign) for sign in text) or _EMPTY


def unescape_label(written: str) -> str:
    """Decode what `escape_label` returned."""
    return "" if written == _EMPTY else written.replace("%2E", ".").replace("%25", "%")


def escape_labels(texts: Iterable[str]) -> tuple[str, ...]:
    """Encode texts as the labels of a namespace."""
    return tuple(map(escape_label, texts))


_DATABASE_SUFFIXES = (".db", ".sqlite", ".sqlite3")

_lock = threading.Lock()
_open_stores: "dict[tuple[Path, str], FaissStore]" = {}


def store_for(storage: "BaseStore | str | Path | None", file: str, embedder: object = None) -> BaseStore:
    """Resolve a `storage` argument to a store.

    Args:
        storage: a LangGraph store, used as it is; the path of a folder or of a database file; None for the storage
            folder.
        file: the name of the database file in a folder.
        embedder: as `embedder_of` accepts it; ignored if `storage` is a store.

    Raises:
        TypeError: `storage` is none of these.
        StorageError: the file cannot be opened.
    """
    if isinstance(storage, BaseStore):
        return storage
    if storage is not None and not isinstance(storage, (str, Path)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"a `{type(storage).__name__}` is not a storage; pass a path, or a LangGraph store (`InMemoryStore(index=...)`, "
            "`FaissStore(...)`)"
        )
    path = storage_dir() if storage is None else Path(storage).expanduser()
    return open_store(path if path.suffix in _DATABASE_SUFFIXES else path / file, embedder)


def open_store(path: Path, embedder: object = None) -> BaseStore:
    """The store on a file, opened once per embedder and process, and reopened if its file was deleted or replaced.

    Raises:
        StorageError: the file cannot be opened.
    """
    from crewgraph.storage.vectors.embedder import NamedEmbedder
    from crewgraph.storage.vectors.resolve import embedder_of

    named = embedder if isinstance(embedder, NamedEmbedder) else embedder_of(embedder)
    key = (path.absolute(), named.name)
    from crewgraph.storage.store.faiss_store import FaissStore

    with _lock:
        if key not in _open_stores or _open_stores[key].is_replaced:
            _open_stores[key] = FaissStore(path, embedder=named)
        return _open_stores[key]


def close_stores(folder: Path) -> None:
    """Close the stores whose files are in a folder; they are reopened on demand."""
    with _lock:
        for key in [key for key in _open_stores if key[0].is_relative_to(folder.absolute())]:
            _open_stores.pop(key).close()


_TEXT = "text"
_PAGE = 1000


@dataclass(frozen=True)
class Entry:
    """An entry to store."""

    key: str
    """Identifies the entry; another one with the same key replaces it."""

    text: str
    """The text that is searched."""

    metadata: PlainMapping = field(default_factory=dict[str, Any])
    """JSON data. In the store its keys are those of the value, beside `text`."""

    below: tuple[str, ...] = ()
    """The path below the namespace."""


@dataclass(frozen=True)
class FoundEntry(Entry):
    """A stored entry."""

    score: float | None = None
    """Similarity to the query, 1 at most; None without a query."""

    created_at: datetime | None = None
    updated_at: datetime | None = None


class StoreNamespace:
    """Entries below one namespace of a store. Programs, such as `searching`, run by `drive` and `adrive`.

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
        """Configure the namespace; the store is opened on first use.

        Args:
            namespace: its labels, below the project's.
            storage: a LangGraph store, a path, or None for the storage folder.
            embedder: as `embedder_of` accepts it; ignored if `storage` is a store.
            file: the name of the database file in a folder.
            of_project: whether the entries belong to this project only.
        """
        self._labels, self._per_project = namespace, of_project
        self._storage, self._file, self._embedder = storage, file, embedder
        self._resolved_embedder: NamedEmbedder | None = None

    @property
    def namespace(self) -> tuple[str, ...]:
        """The labels of the namespace in the store."""
        return escape_labels(self._labels) if not self._per_project else (project_label(), *escape_labels(self._labels))

    @property
    def store(self) -> BaseStore:
        """The underlying store.

        Raises:
            StorageError: it cannot be opened.
        """
        if self._resolved_embedder is None and not is_store(self._storage):
            from crewgraph.storage.vectors.resolve import embedder_of

            self._resolved_embedder = embedder_of(self._embedder)
        # Where the storage folder is, is asked each time.
        return store_for(self._storage, self._file, self._resolved_embedder)

    def put(self, key: str, text: str, metadata: PlainMapping | None = None) -> None:
        """Store an entry, replacing one with the same key."""
        drive(self.putting([Entry(key, text, metadata or {})]))

    def search(
        self,
        query: str,
        limit: int = 3,
        score_threshold: float | None = None,
        filter: Mapping[str, object] | None = None,
        below: tuple[str, ...] = (),
    ) -> list[FoundEntry]:
        """The entries most similar to a text, best first.

        Args:
            query: the text.
            limit: the maximum number of entries.
            score_threshold: the minimum score.
            filter: conditions on the metadata, with LangGraph's operators: `{"agent": "Writer", "quality": {"$gte": 5}}`.
            below: search only below this path.
        """
        return drive(self.searching(query, limit, score_threshold, filter, below))

    def entries(self, filter: PlainMapping | None = None, below: tuple[str, ...] = ()) -> list[FoundEntry]:
        """All entries, optionally filtered by metadata or by path."""
        return drive(self.listing(filter, below))

    def reset(self) -> None:
        """Delete all entries."""
        drive(self.clearing())

    async def areset(self) -> None:
        """Async `reset`."""
        await adrive(self.clearing())

    def putting(self, entries: Iterable[Entry]) -> Program[None]:
        """Store several entries in one batch."""
        yield from self._batch("be written", [self._put(entry) for entry in entries])

    def searching(
        self,
        query: str,
        limit: int,
        score_threshold: float | None = None,
        filter: Mapping[str, object] | None = None,
        below: tuple[str, ...] = (),
        offset: int = 0,
    ) -> Program[list[FoundEntry]]:
        """The program of `search`, with an offset."""
        if limit < 1 or not query.strip():  # stores take an empty query for none, and give no scores
            return []
        base = self.namespace
        op = SearchOp((*base, *escape_labels(below)), _encode_metadata(filter or {}) or None, limit, offset, query)
        entries: list[FoundEntry] = [
            _found_entry(item, len(base)) for item in (yield from self._batch("be searched", [op]))[0]
        ]
        scores = [entry.score for entry in entries if entry.score is not None]
        if len(scores) < len(entries):
            raise StorageError(
                f"the store `{type(self.store).__name__}` does not support semantic search, so nothing can be recalled from it. "
                'Create it with an index: `InMemoryStore(index={"dims": ..., "embed": ...})`.'
            )
        least = -inf if score_threshold is None else score_threshold
        return [entry for entry, score in zip(entries, scores, strict=True) if score >= least]

    def listing(
        self,
        filter: Mapping[str, object] | None = None,
        below: tuple[str, ...] = (),
        limit: int | None = None,
    ) -> Program[list[FoundEntry]]:
        """The program of `entries`, up to a limit."""
        base = self.namespace
        entries: list[FoundEntry] = []
        while True:
            most = _PAGE if limit is None else min(_PAGE, limit - len(entries))
            op = SearchOp((*base, *escape_labels(below)), _encode_metadata(filter or {}) or None, most, len(entries))
            page = (yield from self._batch("be read", [op]))[0]
            entries += [_found_entry(item, len(base)) for item in page]
            if len(page) < _PAGE:
                return entries

    def getting(self, keys: Sequence[str], below: tuple[str, ...] = ()) -> Program[list[FoundEntry | None]]:
        """The entries of some keys at exactly one path; None for those that do not exist."""
        base = self.namespace
        items = yield from self._batch("be read", [GetOp((*base, *escape_labels(below)), key) for key in keys])
        return [None if item is None else _found_entry(item, len(base)) for item in items]

    def places(self, below: tuple[str, ...] = ()) -> Program[list[tuple[str, ...]]]:
        """The paths below `below` at which there are entries."""
        base = self.namespace
        condition = MatchCondition("prefix", (*base, *escape_labels(below)))
        paths: list[tuple[str, ...]] = []
        while True:
            op = ListNamespacesOp((condition,), None, _PAGE, len(paths))
            page = (yield from self._batch("be read", [op]))[0]
            paths += [tuple(map(unescape_label, namespace[len(base) :])) for namespace in page]
            if len(page) < _PAGE:
                return paths

    def deleting(self, entries: Iterable["Entry | str"]) -> Program[int]:
        """Delete entries, passed as such or by key; returns how many were passed."""
        targets = [Entry(entry, "") if isinstance(entry, str) else entry for entry in entries]
        base = self.namespace
        yield from self._batch(
            "be written", [PutOp((*base, *escape_labels(entry.below)), entry.key, None) for entry in targets]
        )
        return len(targets)

    def clearing(self, below: tuple[str, ...] = ()) -> Program[int]:
        """The program of `reset`, optionally only below a path. Returns how many entries there were."""
        return (yield from self.deleting((yield from self.listing(None, below))))

    def _put(self, entry: Entry) -> PutOp:
        value = {**_encode_metadata(entry.metadata), _TEXT: entry.text}
        return PutOp((*self.namespace, *escape_labels(entry.below)), entry.key, value, [_TEXT])

    def _batch(self, action: str, ops: Sequence[Op]) -> Program[list[Any]]:
        if not ops:
            return []
        return (yield from self._guarded(action, Do(lambda: self.store.batch(ops), lambda: self._abatch(ops))))

    def preparing(self, texts: list[str]) -> Program[None]:
        """Embed texts in one request, for the searches and entries that follow; a store of the user's embeds by itself."""
        if not is_store(self._storage):
            yield from self._guarded("be searched", Do(self._prepare, partial(in_thread, self._prepare), texts))

    def _prepare(self, texts: list[str]) -> None:
        if self.store and self._resolved_embedder and self._resolved_embedder.keeps(texts):
            self._resolved_embedder.embeddings.embed_documents(texts)

    def _guarded(self, action: str, operation: Do) -> Program[Any]:
        try:
            return (yield operation)
        except CrewgraphError:
            raise
        except Exception as error:  # any error of any store
            why = f"{type(error).__name__}: {error}"
            if type(error).__name__ == "UndefinedTable":  # of psycopg, which is not imported for it
                why = "the database has no tables for the store: call `setup()` of the store once"
            raise StorageError(f"`{'/'.join(self._labels)}` could not {action}: {why}") from error

    async def _abatch(self, ops: Sequence[Op]) -> Any:
        store = await in_thread(getattr, self, "store")  # opening it reads files
        return await store.abatch(ops)


def _encode_metadata(metadata: PlainMapping) -> dict[str, object]:
    """Metadata as part of a value, where `text` is taken."""
    return {f"{key}_" if key.rstrip("_") == _TEXT else key: value for key, value in metadata.items()}


def _found_entry(item: "Item | SearchItem", base: int) -> FoundEntry:
    return FoundEntry(
        key=item.key,
        text=item.value.get(_TEXT, ""),
        metadata={
            key[:-1] if key.rstrip("_") == _TEXT else key: part for key, part in item.value.items() if key != _TEXT
        },
        below=tuple(map(unescape_label, item.namespace[base:])),
        score=getattr(item, "score", None),
        created_at=item.created_at,
        updated_at=item.updated_at,
    )


def is_store(value: object) -> bool:
    """Return whether a value is a LangGraph store."""
    return isinstance(value, BaseStore)
