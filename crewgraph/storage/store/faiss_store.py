"""LangGraph's store on one SQLite file, searched by meaning with FAISS.

A thread that removes what has expired, now and then.
"""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from threading import Event, Thread

from langgraph.store.base import BaseStore, IndexConfig, Op, Result, TTLConfig

from crewgraph.errors import StorageError
from crewgraph.storage.database import Closing, Database
from crewgraph.storage.store.batches import Vectors, Wanted, Worker, embedder_for, step
from crewgraph.storage.store.entries import swept
from crewgraph.storage.store.plan import Plan
from crewgraph.storage.store.schema import TABLES

__all__ = ["FaissStore", "Sweeper"]


_SECONDS = 60  # of a minute
_logger = logging.getLogger(__name__)


class Sweeper:
    """Calls a function at intervals until it is stopped; what storage refuses is told in the log and tried again."""

    def __init__(self, sweep: Callable[[], int]) -> None:
        self._sweep = sweep
        self._stopped = Event()
        self._thread: Thread | None = None
        self._ended: Future[None] = Future()

    def start(self, minutes: float) -> Future[None]:
        """Start, unless it runs; the future ends when the thread does.

        Raises:
            ValueError: no time is between two sweeps.
        """
        if minutes <= 0:
            raise ValueError(f"There are to be {minutes} minutes between two sweeps; give more than 0.")
        if self._thread is None or not self._thread.is_alive():
            self._stopped, self._ended = Event(), Future()
            arguments = (self._stopped, self._ended, minutes * _SECONDS)
            self._thread = Thread(target=self._run, args=arguments, name="crewgraph-sweeper", daemon=True)
            self._thread.start()
        return self._ended

    def stop(self, timeout: float | None) -> bool:
        """Stop, and wait for it so many seconds; whether it has ended."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(timeout)
        return self._thread is None or not self._thread.is_alive()

    def _run(self, stopped: Event, ended: Future[None], seconds: float) -> None:
        while not stopped.wait(seconds):
            try:
                if count := self._sweep():
                    _logger.info("%s entries have expired.", count)
            except StorageError as error:
                _logger.warning("What has expired could not be removed: %s", error)
        ended.set_result(None)


class FaissStore(Closing, BaseStore):
    """Keeps values under namespaces and keys in one SQLite file, and finds them by filters or by meaning.

    One object serves sync and async programs, any number of threads and event loops; several processes may use the same
    file, and a search finds what any of them has written. The file holds the vectors as well. Beside a large store stands a
    file `PATH.N.index`, a copy of its index that only saves time: it may be deleted.

    A process that is killed loses nothing that was saved. With `synchronous="NORMAL"` a power cut may take back the last
    moments (the file stays sound); `"FULL"` waits for the disk at every save.

    Vectors are kept under the name of their embedder. What another embedder has embedded, or none, is embedded by this one
    before its first search: several may share a file, and one that was changed finds all again.

    Within a batch the reads see the store as it was before, and the last put of a key counts. A search without a query
    gives what was written last first, and no scores; with a query, entries with vectors only, by cosine similarity
    (-1 to 1), where an entry's score is that of its best vector.
    """

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
        """Open the file, or create it for its owner alone (0600), with the folders that are missing (0700).

        Args:
            path: the file, or `":memory:"` for a store that ends with this object.
            embedder: a LangChain `Embeddings`, a function from texts to vectors, CrewAI's `{"provider": ..., "config": ...}`
                or "provider/model"; None is the local one, which needs no key and no download; False embeds nothing.
            index: LangGraph's configuration: `embed` counts where there is no `embedder`, `dims` is what its vectors must
                have, `fields` are the parts of a value that are embedded (all of it as one text where there are none).
            ttl: when entries expire, in minutes, and whether reading refreshes them; `start_ttl_sweeper` or `sweep_ttl`
                removes them.
            synchronous: SQLite's setting of that name: `OFF`, `NORMAL`, `FULL` or `EXTRA`.
            busy_timeout: seconds to wait while another process writes.

        Raises:
            StorageError: the file cannot be used; the message says why and what to do.
            ValueError: `synchronous` is none of SQLite's settings.
        """
        self.ttl_config = ttl
        self._embedder = embedder_for(embedder, index)
        self._fields = self._embedder.fields if self._embedder else ()
        self._database = Database(os.fspath(path), synchronous=synchronous, timeout=busy_timeout, tables=TABLES)
        self._worker = Worker(self._database, self._embedder, omit_expired=bool((ttl or {}).get("omit_expired")))
        self._sweeper = Sweeper(self.sweep_ttl)

    @property
    def index_config(self) -> IndexConfig | None:
        """How it embeds, as LangGraph's stores tell it; None where it embeds nothing. `dims` is 0 until something was."""
        return self._embedder.config if self._embedder else None

    def close(self) -> None:
        """Close the file; twice is once."""
        self._sweeper.stop(0)
        self._worker.close()
        self._database.close()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations; their results, in their order.

        Raises:
            InvalidNamespaceError: a namespace has a label that it may not have.
            StorageError: the file cannot be read or written, or vectors do not fit; nothing of the batch was written.
            TypeError: a value is no JSON.
            ValueError: an operation or a filter makes no sense.
        """
        work = self._worker.work(Plan(ops, self._fields))
        now = step(work, None)
        while isinstance(now, Wanted):
            now = step(work, self._embed(now))
        return now

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Async face of `batch`: the file is used in threads, texts are embedded by the embedder's own async face."""
        work = self._worker.work(Plan(ops, self._fields))
        now = await self._database.aside(step, work, None)
        while isinstance(now, Wanted):
            now = await self._database.aside(step, work, await self._aembed(now))
        return now

    def sweep_ttl(self) -> int:
        """Remove the entries that have expired; how many there were.

        Raises:
            StorageError: the file cannot be written.
        """
        return self._database.write(swept, time.time())

    async def asweep_ttl(self) -> int:
        """Async face of `sweep_ttl`."""
        return await self._database.aside(self.sweep_ttl)

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Future[None]:
        """Remove what has expired at intervals, in a thread; without a `ttl` configuration nothing is done.

        Args:
            sweep_interval_minutes: between two sweeps; None takes `ttl["sweep_interval_minutes"]`, else 5.

        Returns:
            What ends when the sweeper does.
        """
        if not self.ttl_config:
            ended: Future[None] = Future()
            ended.set_result(None)
            return ended
        return self._sweeper.start(sweep_interval_minutes or self.ttl_config.get("sweep_interval_minutes") or 5)

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop the sweeper and wait for it, at most `timeout` seconds; whether it has ended."""
        return self._sweeper.stop(timeout)

    def _embed(self, wanted: Wanted) -> Vectors:
        assert self._embedder is not None
        embeddings = self._embedder.embeddings
        queries = [embeddings.embed_query(query) for query in wanted.queries]
        return Vectors(queries, embeddings.embed_documents(list(wanted.texts)) if wanted.texts else ())

    async def _aembed(self, wanted: Wanted) -> Vectors:
        assert self._embedder is not None
        embeddings = self._embedder.embeddings
        queries = await asyncio.gather(*(embeddings.aembed_query(query) for query in wanted.queries))
        return Vectors(queries, await embeddings.aembed_documents(list(wanted.texts)) if wanted.texts else ())
