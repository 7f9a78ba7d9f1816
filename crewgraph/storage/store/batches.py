"""Executing a batch of store operations; no transaction is open while texts are embedded.

`StoreEmbedder` is what a store embeds with.
"""

import asyncio
import json
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from langgraph.store.base import GetOp, IndexConfig, ListNamespacesOp, Result, SearchOp

from crewgraph.core.operations import Do, Program
from crewgraph.errors import EmbedderError, StorageError
from crewgraph.redaction import redacted_logger
from crewgraph.schema import PlainDict
from crewgraph.storage.database import Database
from crewgraph.storage.store.entries import (
    WHOLE_VALUE,
    BatchPlan,
    NewEntry,
    StoredEntry,
    get_entry,
    list_namespaces,
    refresh_ttl,
    search_newest,
    texts_to_embed,
    write_entry,
)
from crewgraph.storage.store.search_space import SearchSpace
from crewgraph.storage.store.vectors import (
    UnembeddedEntry,
    find_space,
    get_or_create_space,
    insert_missing_vectors,
    insert_vectors,
    mark_embedded,
    unembedded_entries,
)
from crewgraph.storage.vectors.embedder import NamedEmbedder
from crewgraph.storage.vectors.resolve import embedder_of

_Queries = dict[str, Sequence[float]]


class StoreEmbedder:
    """An embedder, the fields of a value that it embeds, and the name of its vectors."""

    def __init__(self, named: NamedEmbedder, dims: int | None, fields: Sequence[str]) -> None:
        self.embeddings = named.embeddings
        self.dims = dims
        self.fields = tuple(fields)
        self._named = named

    @property
    def config(self) -> IndexConfig:
        """The same in LangGraph's form."""
        return {"dims": self.dims or 0, "embed": self.embeddings, "fields": list(self.fields)}

    def embed(
        self, queries: Sequence[str], texts: list[str], blocking: Callable[..., Do]
    ) -> Program[tuple[_Queries, dict[str, bytes]]]:
        """The vectors of queries, and those of texts as bytes, which a `blocking` call makes.

        Raises:
            EmbedderError: there is not one vector of the right length for each.
        """
        embeddings = self.embeddings

        async def aembed_queries() -> list[list[float]]:
            return await asyncio.gather(*map(embeddings.aembed_query, queries))

        query_vectors = yield Do(lambda: [*map(embeddings.embed_query, queries)], aembed_queries)
        self._pack(queries, query_vectors)
        vectors = (yield Do(embeddings.embed_documents, embeddings.aembed_documents, texts)) if texts else ()
        return dict(zip(queries, query_vectors, strict=True)), (yield blocking(self._pack, texts, vectors))

    def space(self) -> tuple[str, int]:
        """The name and the dimensions of the vector space; vectors of different spaces are never compared.

        Call it after something was embedded and while no transaction is open: finding out the name may embed a text.
        """
        assert self.dims is not None
        name = self._named.name
        return (name if self.fields == (WHOLE_VALUE,) else f"{name} of {', '.join(self.fields)}"), self.dims

    def _pack(self, texts: Sequence[str], vectors: Sequence[Sequence[float]]) -> dict[str, bytes]:
        if not texts:
            return {}
        rows = np.asarray(vectors, "<f4")
        self.dims = self.dims or rows.shape[-1]
        if rows.shape != (len(texts), self.dims):
            raise EmbedderError(
                f"The embedder `{self._named.name}` returned vectors of length {rows.shape[-1]}; expected {self.dims}. "
                "Set `dims` to the length of its model's vectors, or reopen the store if the model has changed: "
                "its entries are then embedded again."
            )
        return {text: row.tobytes() for text, row in zip(texts, rows, strict=True)}


def store_embedder(embedder: object, index: IndexConfig | None) -> StoreEmbedder | None:
    """The embedder of a store; None if it has none.

    Args:
        embedder: an embedder as `embedder_of` accepts it, or False for none.
        index: LangGraph's configuration; its `embed` is used if `embedder` is None.

    Raises:
        EmbedderError: no such embedder exists.
        MissingExtra: its package is not installed.
    """
    if embedder is False:
        return None
    config: PlainDict = dict(index or {})
    source = config.get("embed") if embedder is None else embedder
    if isinstance(source, str) and "/" not in source:
        source = source.replace(":", "/", 1)  # "openai:text-embedding-3-small", as LangGraph writes it
    return StoreEmbedder(embedder_of(source), config.get("dims"), config.get("fields") or (WHOLE_VALUE,))


_BATCH = 256  # entries that are embedded at once
_NEVER_EXPIRED = float("-inf")
_logger = redacted_logger(__name__)


class BatchRunner:
    """Reads and writes the entries of a store, and keeps their vectors complete."""

    def __init__(self, database: Database, embedder: StoreEmbedder | None, *, omit_expired: bool) -> None:
        self._database = database
        self._embedder = embedder
        self._omit_expired = omit_expired
        self._spaces: dict[int, SearchSpace] = {}  # by process: a forked one makes its own

    def run(self, plan: BatchPlan) -> Program[list[Result]]:
        """Execute a batch."""
        queries: _Queries = {}
        packed: dict[str, bytes] = {}
        space = ("", 0)
        texts = list(dict.fromkeys(text for new in plan.puts for text in new.texts))
        if (embedder := self._embedder) and (plan.queries or texts):
            queries, packed = yield from embedder.embed(plan.queries, texts, self._blocking)
            space = yield self._blocking(embedder.space)
            if queries:
                yield from self._embed_missing(embedder, space)
        return (yield self._blocking(self._execute, plan, queries, packed, space))

    def _blocking(self, function: Callable[..., Any], *args: Any) -> Do:
        """Call a function; on an event loop in the few threads of the database, as thousands of batches may run at once."""
        return Do(function, partial(self._database.run_in_thread, function), *args)

    def _execute(
        self, plan: BatchPlan, queries: _Queries, packed: dict[str, bytes], space: tuple[str, int]
    ) -> list[Result]:
        now = time.time()
        results, read = self._read(plan, queries, now)
        if read:
            self._refresh(read, now)
        if plan.puts:
            self._database.write(_write_entries, plan.puts, space, packed, now)
        return results

    def _read(self, plan: BatchPlan, queries: _Queries, now: float) -> tuple[list[Result], set[int]]:
        results: list[Result] = [None] * len(plan.ops)
        read: set[int] = set()
        since = now if self._omit_expired else _NEVER_EXPIRED
        for at, op in plan.reads:
            if isinstance(op, ListNamespacesOp):
                results[at] = self._database.read(list_namespaces, op, since)
                continue
            hits = self._search(op, queries, since)
            if op.refresh_ttl:
                read.update(entry.id for entry, _ in hits if entry.mortal)
            if isinstance(op, SearchOp):
                results[at] = [entry.search_item(score) for entry, score in hits]
            else:
                results[at] = hits[0][0].item() if hits else None
        return results, read

    def _refresh(self, read: set[int], now: float) -> None:
        try:
            self._database.write(refresh_ttl, read, now)
        except StorageError as error:  # what was read is valid even if the disk is full
            _logger.warning("The time to live of entries that were read could not be restarted: %s", error)

    def _search(
        self, op: GetOp | SearchOp, queries: _Queries, since: float
    ) -> Sequence[tuple[StoredEntry, float | None]]:
        if isinstance(op, GetOp):
            entry = self._database.query(get_entry, op, since)
            return [] if entry is None else [(entry, None)]
        if op.query in queries:
            return self._database.read(self._spaces[os.getpid()].search, op, queries[op.query], since)
        return [(entry, None) for entry in self._database.read(search_newest, op, since)]

    def _embed_missing(self, embedder: StoreEmbedder, name: tuple[str, int]) -> Program[None]:
        """Embed all entries that lack vectors."""
        space: SearchSpace = yield self._blocking(self._space, name)
        while entries := (yield self._blocking(self._database.read, _read_unembedded, space)):
            texts = [texts_to_embed(json.loads(entry.value), entry.paths(embedder.fields)) for entry in entries]
            flat = list(dict.fromkeys(text for entry_texts in texts for text in entry_texts))
            packed = (yield from embedder.embed((), flat, self._blocking))[1]
            rows = [
                (entry, [packed[text] for text in entry_texts])
                for entry, entry_texts in zip(entries, texts, strict=True)
            ]
            yield self._blocking(self._database.write, _write_missing_vectors, space.no, rows)

    def _space(self, name: tuple[str, int]) -> SearchSpace:
        space = self._spaces.get(os.getpid())
        if space is None:
            no = self._database.query(find_space, *name) or self._database.write(get_or_create_space, *name)
            space = self._spaces.setdefault(os.getpid(), SearchSpace(self._database.path, no, name[1]))
        return space


def _write_entries(
    connection: sqlite3.Connection,
    puts: Sequence[NewEntry],
    space: tuple[str, int],
    packed: dict[str, bytes],
    now: float,
) -> None:
    no = get_or_create_space(connection, *space) if packed else 0
    for new in puts:
        entry = write_entry(connection, new, now)
        if entry and packed:
            insert_vectors(connection, no, *entry, [packed[text] for text in new.texts])


def _read_unembedded(connection: sqlite3.Connection, space: SearchSpace) -> list[UnembeddedEntry]:
    last: int = connection.execute("SELECT coalesce(max(id), 0) FROM entries").fetchone()[0]
    if last <= space.checked:
        return []
    embedded_up_to: int = connection.execute("SELECT whole FROM spaces WHERE no = ?", (space.no,)).fetchone()[0]
    entries = unembedded_entries(connection, space.no, _BATCH, max(embedded_up_to, space.checked))
    if not entries:
        space.checked = last
    return entries


def _write_missing_vectors(
    connection: sqlite3.Connection, space: int, rows: Sequence[tuple[UnembeddedEntry, Sequence[bytes]]]
) -> None:
    for entry, vectors in rows:
        if vectors:
            insert_missing_vectors(connection, space, entry, vectors)
    mark_embedded(connection, space, rows[-1][0].id)
