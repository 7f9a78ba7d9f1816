"""LangGraph store on one SQLite file with semantic search by FAISS, and the thread that deletes expired entries."""

import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from threading import Event, Thread

from langgraph.store.base import BaseStore, IndexConfig, Op, Result, TTLConfig

from crewgraph.core.operations import adrive, drive
from crewgraph.errors import StorageError
from crewgraph.redaction import redacted_logger
from crewgraph.storage.database import Closeable, Database
from crewgraph.storage.store.batches import BatchRunner, store_embedder
from crewgraph.storage.store.entries import BatchPlan, delete_expired
from crewgraph.storage.store.schema import STORE_SCHEMA

_SECONDS = 60  # of a minute
_logger = redacted_logger(__name__)


class Sweeper:
    """Calls a function at intervals until it is stopped; storage errors are logged and the call is retried later."""

    def __init__(self, sweep: Callable[[], int]) -> None:
        self._sweep = sweep
        self._stopped = Event()
        self._thread: Thread | None = None
        self._ended: Future[None] = Future()

    def start(self, minutes: float) -> Future[None]:
        """Start unless running; the future completes when the thread ends.

        Raises:
            ValueError: the interval is not positive.
        """
        if minutes <= 0:
            raise ValueError(f"The interval between two sweeps must be more than 0 minutes, not {minutes}.")
        if self._thread is None or not self._thread.is_alive():
            self._stopped, self._ended = Event(), Future()
            arguments = (self._stopped, self._ended, minutes * _SECONDS)
            self._thread = Thread(target=self._run, args=arguments, name="crewgraph-sweeper", daemon=True)
            self._thread.start()
        return self._ended

    def stop(self, timeout: float | None) -> bool:
        """Stop and wait at most `timeout` seconds; returns whether the thread has ended."""
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
                _logger.warning("Expired entries could not be deleted: %s", error)
        ended.set_result(None)


class FaissStore(Closeable, BaseStore):
    """Stores values under namespaces and keys in one SQLite file, and finds them by filters or by meaning.

    One object serves sync and async programs, any number of threads and event loops; several processes may use the same
    file, and a search sees what any of them has written. The file holds the vectors as well, from which the first search of a
    process builds the index.

    A killed process loses nothing that was saved. With `synchronous="NORMAL"` a power cut may undo the last moments (the file
    stays intact); `"FULL"` waits for the disk at every save.

    Vectors are stored under the name of their embedder. Entries that were embedded by another embedder, or by none, are embedded
    before the first search: several embedders may share a file, and changing the embedder loses nothing.

    Within a batch, reads see the store as it was before, and the last put of a key wins. A search without a query returns the
    most recently written entries first, without scores; with a query, only entries that have vectors, by cosine similarity
    (-1 to 1), where an entry's score is that of its best vector.
    """

    supports_ttl = True
    """That entries may expire, for LangGraph."""

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
        """Open the file, or create it with mode 0600, with missing folders of mode 0700.

        Args:
            path: the file, or `":memory:"` for a store that ends with this object.
            embedder: a LangChain `Embeddings`, a function from texts to vectors, CrewAI's `{"provider": ..., "config": ...}`
                or "provider/model"; None is the local one, which needs no key and no download; False embeds nothing.
            index: LangGraph's configuration: `embed` is used if there is no `embedder`, `dims` is the required length of
                vectors, `fields` are the parts of a value to embed (by default all of it as one text).
            ttl: when entries expire, in minutes, and whether reads refresh them; `start_ttl_sweeper` or `sweep_ttl`
                deletes them.
            synchronous: SQLite's setting of that name: `OFF`, `NORMAL`, `FULL` or `EXTRA`.
            busy_timeout: seconds to wait while another process writes.

        Raises:
            StorageError: the file cannot be used; the message says why and what to do.
            ValueError: `synchronous` is not one of SQLite's settings.
        """
        self.ttl_config = ttl
        """When entries expire, as it was given."""

        self._embedder = store_embedder(embedder, index)
        self._fields = self._embedder.fields if self._embedder else ()
        self._database = Database(os.fspath(path), synchronous=synchronous, timeout=busy_timeout, schema=STORE_SCHEMA)
        self._runner = BatchRunner(self._database, self._embedder, omit_expired=bool((ttl or {}).get("omit_expired")))
        self._sweeper = Sweeper(self.sweep_ttl)

    @property
    def index_config(self) -> IndexConfig | None:
        """LangGraph's index configuration; None if nothing is embedded. `dims` is 0 until something was embedded."""
        return self._embedder.config if self._embedder else None

    @property
    def is_replaced(self) -> bool:
        """Whether the file was deleted or replaced since it was opened; the store is then unusable."""
        return self._database.is_replaced

    def close(self) -> None:
        """Close the file. May be called more than once."""
        self._sweeper.stop(0)
        self._database.close()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute operations and return their results in order.

        Raises:
            InvalidNamespaceError: a namespace has an invalid label.
            StorageError: the file cannot be read or written, or vectors do not fit; nothing of the batch was written.
            TypeError: a value cannot be encoded as JSON.
            ValueError: an operation or a filter is invalid.
        """
        return drive(self._runner.run(BatchPlan(ops, self._fields)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Async `batch`: the file is used in threads, texts are embedded with the embedder's async methods."""
        return await adrive(self._runner.run(BatchPlan(ops, self._fields)))

    def sweep_ttl(self) -> int:
        """Delete expired entries and return their number.

        Raises:
            StorageError: the file cannot be written.
        """
        return self._database.write(delete_expired, time.time())

    async def asweep_ttl(self) -> int:
        """Async version of `sweep_ttl`."""
        return await self._database.run_in_thread(self.sweep_ttl)

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Future[None]:
        """Delete expired entries at intervals, in a thread; does nothing without a `ttl` configuration.

        Args:
            sweep_interval_minutes: minutes between two sweeps; None takes `ttl["sweep_interval_minutes"]`, by default 5.

        Returns:
            A future that completes when the sweeper ends.
        """
        if not self.ttl_config:
            ended: Future[None] = Future()
            ended.set_result(None)
            return ended
        return self._sweeper.start(sweep_interval_minutes or self.ttl_config.get("sweep_interval_minutes") or 5)

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop the sweeper and wait at most `timeout` seconds; returns whether it has ended."""
        return self._sweeper.stop(timeout)
