"""LangGraph's store on one SQLite file, searched by meaning with FAISS."""

import asyncio
import json
import os
import sqlite3
import time
from collections.abc import Generator, Iterable, Sequence
from types import TracebackType
from typing import NamedTuple, Self, cast

from langgraph.store.base import BaseStore, GetOp, IndexConfig, ListNamespacesOp, Op, Result, SearchOp, TTLConfig

from crewgraph.checkpoints.database import Database
from crewgraph.stores.embedding import StoreEmbedder, embedder_for
from crewgraph.stores.entries import Found, found, listed, newest, placed, refresh, swept, written
from crewgraph.stores.plan import EVERYTHING, NewEntry, Plan, texts_at
from crewgraph.stores.search_space import SearchSpace
from crewgraph.stores.tables import TABLES
from crewgraph.stores.vectors import Lacking, lacking, log, made_whole, place, space_of

__all__ = ["FaissStore"]

_BATCH = 256  # entries that are embedded at once
_WIDER = 4  # how many times more are looked at where a filter leaves too few
_BEGINNING = float("-inf")


class _Wanted(NamedTuple):
    """What is to be embedded before the work goes on."""

    queries: Sequence[str]
    texts: Sequence[str]


class _Vectors(NamedTuple):
    queries: Sequence[Sequence[float]]
    texts: Sequence[Sequence[float]]


_Work = Generator[_Wanted, _Vectors, list[Result]]


class FaissStore(BaseStore):
    """Keeps values under namespaces and keys in one SQLite file, and finds them by meaning."""

    supports_ttl = True

    def __init__(
        self,
        path: str | os.PathLike[str] = ":memory:",
        *,
        embedder: object = None,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        synchronous: str = "NORMAL",
        busy_timeout: float = 30.0,
    ) -> None:
        self.ttl_config = ttl
        self._embedder = embedder_for(embedder, index)
        self._fields = self._embedder.fields if self._embedder else (EVERYTHING,)
        self._database = Database(os.fspath(path), synchronous=synchronous, timeout=busy_timeout, tables=TABLES)
        self._space: SearchSpace | None = None

    def close(self) -> None:
        """Close the file; twice is once."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._database.aside(self.close)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations, the reads before the writes."""
        work = self._work(Plan(ops, self._fields))
        step = _step(work, None)
        while isinstance(step, _Wanted):
            step = _step(work, self._embed(step))
        return step

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Async face of `batch`; files are used in threads, texts are embedded by the embedder's async face."""
        work = self._work(Plan(ops, self._fields))
        step = await self._database.aside(_step, work, None)
        while isinstance(step, _Wanted):
            step = await self._database.aside(_step, work, await self._aembed(step))
        return step

    def sweep_ttl(self) -> int:
        """Remove the entries whose time is over; how many there were."""
        return self._database.write(swept, time.time())

    def _work(self, plan: Plan) -> _Work:
        vectors = _Vectors((), ())
        texts = [text for new in plan.puts for text in new.texts] if self._embedder else []
        if self._embedder and (plan.queries or texts):
            vectors = yield _Wanted(plan.queries, texts)
        queries: dict[str, Sequence[float]] = {}
        if self._embedder and plan.queries:
            self._embedder.packed(vectors.queries, len(plan.queries))
            queries = dict(zip(plan.queries, vectors.queries, strict=True))
            yield from self._made_whole(self._embedder)
        results: list[Result] = [None] * len(plan.ops)
        read: set[int] = set()
        now = time.time()
        for at, op in plan.reads:
            results[at] = self._read(op, queries, now, read)
        if read:
            self._database.write(refresh, read, now)
        if plan.puts:
            packed = self._embedder.packed(vectors.texts, len(texts)) if self._embedder else []
            self._database.write(self._write, plan.puts, packed, now)
        return results

    def _read(
        self, op: GetOp | SearchOp | ListNamespacesOp, queries: dict[str, Sequence[float]], now: float, read: set[int]
    ) -> Result:
        since = now if (self.ttl_config or {}).get("omit_expired") else _BEGINNING
        if isinstance(op, ListNamespacesOp):
            return cast(Result, self._database.read(listed, op, since))
        if isinstance(op, GetOp):
            one = self._database.read(placed, op, since)
            hits = [] if one is None else [(one, None)]
        elif op.query in queries and self._space is not None:
            hits = self._nearest(self._space, op, queries[op.query], since)
        else:
            hits = [(one, None) for one in self._database.read(newest, op, since)]
        if op.refresh_ttl:
            read.update(one.id for one, _ in hits if one.mortal)
        if isinstance(op, GetOp):
            return hits[0][0].item() if hits else None
        return cast(Result, [one.search_item(score) for one, score in hits])

    def _nearest(
        self, space: SearchSpace, op: SearchOp, query: Sequence[float], since: float
    ) -> list[tuple[Found, float | None]]:
        wanted = op.offset + op.limit
        k, allowed = wanted, space.within(op.namespace_prefix)
        while True:
            hits = space.nearest(query, k, allowed)
            best: dict[int, float] = {}
            for entry, score in hits:
                best.setdefault(entry, score)
            rows = self._database.read(found, best, op, since)
            ranked: list[tuple[Found, float | None]] = [(rows[one], best[one]) for one in best if one in rows]
            if len(ranked) >= wanted or len(hits) < k:
                return ranked[op.offset : wanted]
            k *= _WIDER

    def _write(
        self, connection: sqlite3.Connection, puts: Sequence[NewEntry], packed: Sequence[bytes], now: float
    ) -> None:
        at = 0
        space = self._space_no(connection) if packed else 0
        for new in puts:
            entry = written(connection, new, now)
            if packed and entry is not None:
                place(connection, space, entry, packed[at : at + len(new.texts)])
            at += len(new.texts)

    def _space_no(self, connection: sqlite3.Connection) -> int:
        assert self._embedder is not None and self._embedder.dims is not None
        return space_of(connection, self._embedder.space, self._embedder.dims)

    def _made_whole(self, embedder: StoreEmbedder) -> Generator[_Wanted, _Vectors]:
        if self._space is None:
            assert embedder.dims is not None
            self._space = SearchSpace(self._database, self._database.write(self._space_no), embedder.dims)
        space = self._space
        while entries := self._database.read(self._lacking, space):
            texts = [texts_at(json.loads(one.value), self._paths(one)) for one in entries]
            flat = [text for some in texts for text in some]
            vectors = (yield _Wanted((), flat)).texts if flat else ()
            self._database.write(_embedded, space.no, entries, texts, embedder.packed(vectors, len(flat)))
        space.catch_up()

    def _lacking(self, connection: sqlite3.Connection, space: SearchSpace) -> list[Lacking]:
        last: int = connection.execute("SELECT coalesce(max(id), 0) FROM entries").fetchone()[0]
        if last <= space.checked:
            return []
        whole: int = connection.execute("SELECT whole FROM spaces WHERE no = ?", (space.no,)).fetchone()[0]
        entries = lacking(connection, space.no, _BATCH, max(whole, space.checked))
        if not entries:
            space.checked = last
        return entries

    def _paths(self, entry: Lacking) -> Sequence[str]:
        return self._fields if entry.fields is None else json.loads(entry.fields)

    def _embed(self, wanted: _Wanted) -> _Vectors:
        assert self._embedder is not None
        embeddings = self._embedder.embeddings
        return _Vectors(
            [embeddings.embed_query(query) for query in wanted.queries],
            embeddings.embed_documents(list(wanted.texts)) if wanted.texts else (),
        )

    async def _aembed(self, wanted: _Wanted) -> _Vectors:
        assert self._embedder is not None
        embeddings = self._embedder.embeddings
        queries = await asyncio.gather(*(embeddings.aembed_query(query) for query in wanted.queries))
        return _Vectors(queries, await embeddings.aembed_documents(list(wanted.texts)) if wanted.texts else ())


def _step(work: _Work, given: _Vectors | None) -> _Wanted | list[Result]:
    try:
        return next(work) if given is None else work.send(given)
    except StopIteration as end:
        return cast("list[Result]", end.value)


def _embedded(
    connection: sqlite3.Connection,
    space: int,
    entries: Sequence[Lacking],
    texts: Sequence[Sequence[str]],
    packed: Sequence[bytes],
) -> None:
    at = 0
    for entry, some in zip(entries, texts, strict=True):
        if some:
            place(connection, space, entry.id, packed[at : at + len(some)])
            log(connection, space, entry.id)
        at += len(some)
    made_whole(connection, space, entries[-1].id)
