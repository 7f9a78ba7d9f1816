"""How a batch is carried out: one way for sync and async, which asks for vectors where it needs them.

No transaction is open while texts are embedded.

What a store embeds with.

What a search by meaning finds: the nearest vectors, narrowed to the namespace and the filter.
"""

import json
import logging
import math
import os
import sqlite3
import time
from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from langgraph.store.base import GetOp, IndexConfig, ListNamespacesOp, Result, SearchOp

from crewgraph.errors import EmbedderError, StorageError
from crewgraph.storage.database import Database
from crewgraph.storage.store.entries import Found, found, listed, newest, passing, placed, refresh, written
from crewgraph.storage.store.plan import EVERYTHING, NewEntry, Plan, texts_at
from crewgraph.storage.store.search_space import OneState, SearchSpace
from crewgraph.storage.store.vectors import Lacking, lacking, made_space, made_whole, place, place_late, space_of
from crewgraph.storage.vectors.embedder import NamedEmbedder
from crewgraph.storage.vectors.resolve import embedder_of

__all__ = ["StoreEmbedder", "Vectors", "Wanted", "Work", "Worker", "embedder_for", "ranked", "step"]


class StoreEmbedder:
    """An embedder, what it embeds of a value, and what its vectors are called."""

    def __init__(self, named: NamedEmbedder, dims: int | None, fields: Sequence[str]) -> None:
        self.embeddings = named.embeddings
        self.dims = dims
        self.fields = tuple(fields)
        self._named = named

    @property
    def config(self) -> IndexConfig:
        """The same as LangGraph has it."""
        return {"dims": self.dims or 0, "embed": self.embeddings, "fields": list(self.fields)}

    def space(self) -> tuple[str, int]:
        """The name and the dimensions of the space; vectors in another one are never compared with these.

        To be asked when something was embedded and no transaction is open: to find its name, an embedder may embed a text.
        """
        assert self.dims is not None
        name = self._named.name
        return (name if self.fields == (EVERYTHING,) else f"{name} of {', '.join(self.fields)}"), self.dims

    def packed(self, vectors: Sequence[Sequence[float]], texts: int) -> list[bytes]:
        """Vectors as bytes.

        Raises:
            EmbedderError: they are not as many as the texts, or not all of the same length.
        """
        if len(vectors) != texts:
            raise EmbedderError(f"The embedder `{self._named.name}` gave {len(vectors)} vectors for {texts} texts.")
        return [self._bytes(vector) for vector in vectors]

    def _bytes(self, vector: Sequence[float]) -> bytes:
        row = np.asarray(vector, "<f4")
        self.dims = self.dims or row.size
        if not len(row) or row.shape != (self.dims,):
            raise EmbedderError(
                f"The embedder `{self._named.name}` gave a vector of {row.size} numbers where {self.dims} are expected. "
                "Give `dims` as many as its model makes, or open the store anew where the model has changed: "
                "what it holds is embedded again then."
            )
        if not np.isfinite(row).all():
            raise EmbedderError(f"The embedder `{self._named.name}` gave a vector with NaN or infinity in it.")
        return row.tobytes()


def embedder_for(given: object, index: IndexConfig | None) -> StoreEmbedder | None:
    """The embedder of a store; None if it is to have none.

    Args:
        given: an embedder as `embedder_of` takes it, or False for none.
        index: LangGraph's configuration; its `embed` counts where no embedder is given.

    Raises:
        EmbedderError: there is no such embedder.
        MissingExtra: its package is not installed.
    """
    if given is False:
        return None
    config: dict[str, Any] = dict(index or {})
    chosen = config.get("embed") if given is None else given
    if isinstance(chosen, str) and "/" not in chosen:
        chosen = chosen.replace(":", "/", 1)  # "openai:text-embedding-3-small", as LangGraph writes it
    return StoreEmbedder(embedder_of(chosen), config.get("dims"), config.get("fields") or (EVERYTHING,))


_WIDER = 4  # times more vectors are looked at when too few of them pass
_WIDEST = 2_000  # vectors: it is better to ask first which entries pass than to look at more


def ranked(
    database: Database, space: SearchSpace, op: SearchOp, query: Sequence[float], since: float
) -> list[tuple[Found, float]]:
    """The entries a search finds and their scores, the best first; an entry's score is that of its best vector.

    Args:
        database: the store.
        space: of the query, caught up.
        op: the search.
        query: its vector.
        since: entries that expire before are not found.
    """
    near, is_whole = _looked_up(database, space, op, query, since)
    if is_whole or space.is_caught_up():
        return near
    # What was near may have been replaced since, under the same key: nobody writes within a transaction.
    return space.in_one_state(lambda state: _looked_up(state, space, op, query, since)[0])


def _looked_up(
    database: "Database | OneState", space: SearchSpace, op: SearchOp, query: Sequence[float], since: float
) -> tuple[list[tuple[Found, float]], bool]:
    """What is found at once, and whether the entry of each vector that was near was found."""
    wanted = op.offset + op.limit
    allowed, part = space.within(op.namespace_prefix, database)
    k = math.ceil(wanted / part) if allowed is None else wanted
    narrowed = False
    while True:
        hits = space.nearest(query, k, allowed)
        best: dict[int, float] = {}
        for entry, score in hits:
            best.setdefault(entry, score)
        entries = database.glance(found, best, op, since)
        if len(entries) >= wanted or len(hits) < k:
            near = [(entries[one], score) for one, score in best.items() if one in entries]
            return near[op.offset : wanted], len(near) == len(best)
        k *= _WIDER
        if k > _WIDEST and not narrowed:
            allowed, narrowed = space.ids_of(database.read(passing, op, since)), True
            k = wanted


_BATCH = 256  # entries that are embedded at once
_ALWAYS = float("-inf")
_logger = logging.getLogger(__name__)


class Wanted(NamedTuple):
    """What is to be embedded before the work goes on."""

    queries: Sequence[str]
    texts: Sequence[str]


class Vectors(NamedTuple):
    """The vectors of what was wanted."""

    queries: Sequence[Sequence[float]]
    texts: Sequence[Sequence[float]]


Work = Generator[Wanted, Vectors, list[Result]]
"""Asks for vectors, and ends with the results of a batch."""

_Queries = dict[str, Sequence[float]]


def step(work: Work, given: Vectors | None) -> Wanted | list[Result]:
    """Go on with some work until it asks for vectors or ends."""
    try:
        return next(work) if given is None else work.send(given)
    except StopIteration as end:
        return cast("list[Result]", end.value)


class Worker:
    """Reads and writes the entries of a store, and keeps their vectors complete."""

    def __init__(self, database: Database, embedder: StoreEmbedder | None, *, omit_expired: bool) -> None:
        self._database = database
        self._embedder = embedder
        self._omit_expired = omit_expired
        self._spaces: dict[int, SearchSpace] = {}  # by process: a forked one makes its own

    def work(self, plan: Plan) -> Work:
        """Carry out a batch."""
        queries: _Queries = {}
        texts = list(dict.fromkeys(text for new in plan.puts for text in new.texts))
        packed: dict[str, bytes] = {}
        space = ("", 0)
        if self._embedder and (plan.queries or texts):
            vectors = yield Wanted(plan.queries, texts)
            packed = dict(zip(texts, self._embedder.packed(vectors.texts, len(texts)), strict=True))
            self._embedder.packed(vectors.queries, len(plan.queries))
            queries = dict(zip(plan.queries, vectors.queries, strict=True))
            space = self._embedder.space()
            if queries:
                yield from self._complete(self._embedder, space)
        now = time.time()
        results, read = self._read(plan, queries, now)
        if read:
            self._refresh(read, now)
        if plan.puts:
            self._database.write(_write, plan.puts, space, packed, now)
        return results

    def close(self) -> None:
        """Keep what saves time when the store is opened again."""
        if space := self._spaces.pop(os.getpid(), None):
            space.close()

    def _read(self, plan: Plan, queries: _Queries, now: float) -> tuple[list[Result], set[int]]:
        results: list[Result] = [None] * len(plan.ops)
        read: set[int] = set()
        since = now if self._omit_expired else _ALWAYS
        for at, op in plan.reads:
            if isinstance(op, ListNamespacesOp):
                results[at] = cast(Result, self._database.read(listed, op, since))
                continue
            hits = self._hits(op, queries, since)
            if op.refresh_ttl:
                read.update(one.id for one, _ in hits if one.mortal)
            if isinstance(op, SearchOp):
                results[at] = cast(Result, [one.search_item(score) for one, score in hits])
            else:
                results[at] = hits[0][0].item() if hits else None
        return results, read

    def _refresh(self, read: set[int], now: float) -> None:
        try:
            self._database.write(refresh, read, now)
        except StorageError as error:  # what was read is there, and can be read on a full disk
            _logger.warning("Entries that were read expire as if they had not been: %s", error)

    def _hits(self, op: GetOp | SearchOp, queries: _Queries, since: float) -> Sequence[tuple[Found, float | None]]:
        if isinstance(op, GetOp):
            one = self._database.glance(placed, op, since)
            return [] if one is None else [(one, None)]
        if op.query in queries:
            return ranked(self._database, self._spaces[os.getpid()], op, queries[op.query], since)
        return [(one, None) for one in self._database.read(newest, op, since)]

    def _complete(self, embedder: StoreEmbedder, name: tuple[str, int]) -> Generator[Wanted, Vectors]:
        """Let every entry have its vectors, and the index all of them."""
        space = self._spaces.get(os.getpid())
        if space is None:
            no = self._database.glance(space_of, *name) or self._database.write(made_space, *name)
            space = self._spaces.setdefault(os.getpid(), SearchSpace(self._database, no, name[1]))
        if space.is_current():
            return
        state = space.state()
        while entries := self._database.read(_lacking, space):
            texts = [texts_at(json.loads(one.value), one.paths(embedder.fields)) for one in entries]
            flat = list(dict.fromkeys(text for some in texts for text in some))
            given = (yield Wanted((), flat)).texts if flat else ()
            packed = dict(zip(flat, embedder.packed(given, len(flat)), strict=True))
            rows = [(one, [packed[text] for text in some]) for one, some in zip(entries, texts, strict=True)]
            self._database.write(_embedded, space.no, rows)
        space.catch_up()
        space.settled(state)


def _write(
    connection: sqlite3.Connection,
    puts: Sequence[NewEntry],
    space: tuple[str, int],
    packed: dict[str, bytes],
    now: float,
) -> None:
    no = made_space(connection, *space) if packed else 0
    for new in puts:
        entry = written(connection, new, now)
        if entry and packed:
            place(connection, no, *entry, [packed[text] for text in new.texts])


def _lacking(connection: sqlite3.Connection, space: SearchSpace) -> list[Lacking]:
    last: int = connection.execute("SELECT coalesce(max(id), 0) FROM entries").fetchone()[0]
    if last <= space.checked:
        return []
    whole: int = connection.execute("SELECT whole FROM spaces WHERE no = ?", (space.no,)).fetchone()[0]
    entries = lacking(connection, space.no, _BATCH, max(whole, space.checked))
    if not entries:
        space.checked = last
    return entries


def _embedded(connection: sqlite3.Connection, space: int, rows: Sequence[tuple[Lacking, Sequence[bytes]]]) -> None:
    for entry, vectors in rows:
        if vectors:
            place_late(connection, space, entry, vectors)
    made_whole(connection, space, rows[-1][0].id)
