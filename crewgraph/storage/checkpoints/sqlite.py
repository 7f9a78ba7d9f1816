"""LangGraph checkpointer on one SQLite file, for `invoke` and `ainvoke`."""

import copy
import os
import random
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from itertools import chain
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from crewgraph.core.claims import ClaimKeeper
from crewgraph.schema import PlainDict
from crewgraph.storage.checkpoints.codec import Codec, config_for_key, parse_config
from crewgraph.storage.checkpoints.listing import LatestCheckpoint, checkpoint_pages, latest_checkpoints
from crewgraph.storage.checkpoints.removal import Removal, apply_retention, is_open, tells_the_end
from crewgraph.storage.checkpoints.schema import CHECKPOINT_SCHEMA
from crewgraph.storage.checkpoints.threads import Key, NameFilter, Threads, WriteRows
from crewgraph.storage.checkpoints.values import StrictSerializer, Write
from crewgraph.storage.claims.files import EpochClaims, file_claims
from crewgraph.storage.claims.process import ProcessClaims
from crewgraph.storage.database import Closeable, Database, WouldBlock

# Seeded once by the system: a system call for each version would cost more than storing it.
_random = random.Random()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_random.seed)


def _any_name(name: str) -> bool:
    return True


class SqliteCheckpointer(Closeable, BaseCheckpointSaver[str]):
    """Stores the checkpoints of graphs in one SQLite file.

    One object serves sync and async graphs, any number of threads and event loops; several processes may use
    the same file. A channel's value is stored when it changes, and a checkpoint as the difference from its
    parent, so the bytes per superstep do not grow with the graph.

    A killed process loses nothing that was saved. With `synchronous="NORMAL"` a power cut may undo the last
    moments (the file stays intact), but for records of calls that must not be repeated, which wait for the disk;
    `"FULL"` waits for the disk at every save.

    Only built-in types, messages and LangGraph's own types are restored with their type; instances of other classes
    are restored as a dict of their fields. Pass `serde` (or use `with_allowlist`) to allow more.
    """

    _source: "SqliteCheckpointer | None" = None
    """The saver that this one was cloned from, with another serializer."""

    saves_inline = True
    """Saves are short enough to run on the run's own thread; see `put_many`."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        synchronous: str = "NORMAL",
        retention_days: float | None = None,
        max_bytes: int | None = None,
        busy_timeout: float = 30.0,
        serde: SerializerProtocol | None = None,
    ) -> None:
        """Open the file, or create it with mode 0600, with missing folders of mode 0700.

        Args:
            path: the file, or `":memory:"` for a database that ends with this object.
            synchronous: SQLite's setting of that name: `OFF`, `NORMAL`, `FULL` or `EXTRA`.
            retention_days: on opening, delete threads not written for this many days whose runs have ended; None or 0 keeps
                all. Runs that failed, were abandoned, wait for an answer or are being run are kept.
            max_bytes: on opening, delete the oldest such threads while the file is larger; None or 0 sets no limit.
            busy_timeout: seconds to wait while another process writes.
            serde: the serializer of values.

        Raises:
            StorageError: the file cannot be used; the message says why and what to do.
            ValueError: `synchronous` is not one of SQLite's settings.
        """
        super().__init__(serde=serde or StrictSerializer())
        self._database = Database(
            os.fspath(path), synchronous=synchronous, timeout=busy_timeout, schema=CHECKPOINT_SCHEMA
        )
        self._threads = Threads(self._database)
        self._codec = Codec(self.serde, self._database.path)
        self._removal = Removal(self._threads, self._codec.metadata)
        self.claims: ClaimKeeper = (
            ProcessClaims()
            if self.path is None
            else EpochClaims(self._database, file_claims(self.path), self._threads.is_new)
        )
        """The claims on threads; see `crewgraph.storage.claims`."""
        apply_retention(self._database, self._removal, retention_days, max_bytes, self._finished)

    @property
    def path(self) -> str | None:
        """The file; None for an in-memory database."""
        return None if self._database.path == ":memory:" else self._database.path

    def close(self) -> None:
        """Close the file, also for clones from `with_allowlist`. May be called more than once."""
        self._database.close()
        if isinstance(self.claims, EpochClaims):
            self.claims.leave()

    @property
    def is_replaced(self) -> bool:
        """Whether the file was deleted or replaced since it was opened; it is then unusable."""
        return self._database.is_replaced

    @property
    def is_lost(self) -> bool:
        """Whether the file turned out to be damaged, or was deleted or replaced: the runs that it held cannot be resumed."""
        return self._database.is_lost

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> "SqliteCheckpointer":
        """The same database, deserialized with more classes allowed, as (module, class) pairs."""
        clone = super().with_allowlist(extra_allowlist)
        return self if clone is self else self.with_serde(clone.serde)

    def with_serde(self, serde: SerializerProtocol) -> "SqliteCheckpointer":
        """The same database, read and written with another serializer."""
        clone = copy.copy(self)
        clone.serde = serde
        clone._codec = Codec(serde, self._database.path)
        clone._removal = Removal(self._threads, clone._codec.metadata)
        clone._source = self
        return clone

    def get_next_version(self, current: str | float | None, channel: None) -> str:
        """The version after `current`: its number plus one, and a random part that distinguishes forks."""
        number = int(current.split(".", 1)[0]) if isinstance(current, str) else int(current or 0)
        return f"{number + 1:08d}.{_random.getrandbits(24):06x}"

    def begin_thread(self, thread_id: str) -> None:
        """Note that a new thread begins, by an id made for it that no other can have, so that nothing is searched for it."""
        self._threads.begin(thread_id)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that a config names, or the latest of its thread and namespace; None if there is none.

        Raises:
            StorageError: the database cannot be read.
        """
        thread, ns, id = parse_config(config)
        stored = self._threads.find(thread, ns, id)
        return None if stored is None else self._codec.checkpoint_tuple(stored)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: PlainDict | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints, newest first, read in pages while iterating.

        Args:
            config: a thread, optionally a namespace and a checkpoint; None lists all threads.
            filter: metadata that must be equal.
            before: only checkpoints older than the one this config names.
            limit: the maximum number of checkpoints.

        Raises:
            StorageError: the database cannot be read.
        """
        pages = checkpoint_pages(self._threads, self._codec, config, filter=filter, before=before, limit=limit)
        return chain.from_iterable(pages)

    def latest(
        self,
        *,
        filter: PlainDict | None = None,
        threads: NameFilter = _any_name,
        channels: NameFilter = _any_name,
    ) -> Iterator[LatestCheckpoint]:
        """The latest checkpoint of each thread, most recently written first; older checkpoints are not read.

        Args:
            filter: metadata that must be equal.
            threads: whether to include a thread, by its id.
            channels: whether to read a channel's value and pending writes, by its name.

        Raises:
            StorageError: the database cannot be read.
        """
        return latest_checkpoints(self._threads, self._codec, filter=filter, threads_of=threads, channels=channels)

    def threads(self, beginning: str = "") -> Sequence[str]:
        """The ids of the threads that start with `beginning`, sorted.

        Raises:
            StorageError: the database cannot be read.
        """
        return self._threads.names(beginning)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint as a child of the one that the config names.

        Returns:
            The config that names the new checkpoint.

        Raises:
            StorageError: the database cannot be written; what was stored before is unchanged.
            TypeError: a value cannot be serialized.
        """
        rows = self._codec.encode_checkpoint(config, checkpoint, metadata, new_versions)
        self._threads.save_many([rows], config)
        return config_for_key(rows.key)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, object]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task wrote at a checkpoint.

        The first write of a task at a position is final; errors, interrupts and resume values are replaced.

        Raises:
            StorageError: the database cannot be written.
            TypeError: a value cannot be serialized.
        """
        rows = self._encode_writes(config, writes, task_id, task_path)
        if rows is not None:
            self._threads.save_many([rows], config)

    def put_many(self, saves: Sequence[tuple[str, tuple[Any, ...]]]) -> None:
        """Perform several `put` and `put_writes` of one thread and namespace, in order, in one transaction.

        Args:
            saves: the names of the methods ("put" or "put_writes") and their positional arguments.

        Raises:
            StorageError: the database cannot be written; nothing is stored.
            TypeError: a value cannot be serialized.
        """
        encoded = [
            self._codec.encode_checkpoint(*args) if name == "put" else self._encode_writes(*args)
            for name, args in saves
        ]
        self._threads.save_many([rows for rows in encoded if rows is not None], saves[0][1][0])

    def put_many_nowait(self, saves: Sequence[tuple[str, tuple[object, ...]]]) -> bool:
        """Like `put_many` if the database is idle and there is little to write; otherwise store nothing and return False."""
        try:
            self._database.nonblocking(self.put_many, saves)
        except WouldBlock:
            return False
        return True

    def _finished(self, thread_ids: Sequence[str]) -> set[str]:
        """Return those of some threads that no process runs, and whose runs, and the runs around them, have ended."""
        around = {thread_id: _enclosing(thread_id) for thread_id in thread_ids}
        needed = {name for names in around.values() for name in names}
        is_kept = {
            latest.checkpoint.config.get("configurable", {}).get("thread_id")
            for latest in (self.latest(threads=needed.__contains__, channels=tells_the_end) if needed else ())
            if is_open(latest.checkpoint)
        }
        return {
            thread_id
            for thread_id, names in around.items()
            if is_kept.isdisjoint(names) and not any(map(self.claims.holder, names))
        }

    def _encode_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, object]], task_id: str, task_path: str = ""
    ) -> WriteRows | None:
        thread, ns, id = parse_config(config)
        rows = [
            Write(WRITES_IDX_MAP.get(channel, position), channel, None if value is None else self._codec.dumps(value))
            for position, (channel, value) in enumerate(writes)
        ]
        return WriteRows(Key(thread, ns, id or ""), task_id, task_path, rows) if rows else None

    def delete_thread(self, thread_id: str) -> None:
        """Delete a thread with all its namespaces, checkpoints and writes."""
        self._removal.delete([str(thread_id)])

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints whose metadata names one of these runs; others stay readable.

        Raises:
            StorageError: a `DeltaChannel` of another checkpoint is rebuilt from one of them; nothing was
                deleted.
        """
        self._removal.delete_runs([str(run) for run in run_ids])

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread with all its namespaces, checkpoints and writes."""
        self._removal.copy(str(source_thread_id), str(target_thread_id))

    def prune(
        self, thread_ids: Sequence[str], *, strategy: str = "keep_latest", count: int = 1, shrink: bool = True
    ) -> None:
        """Delete all checkpoints of some threads (`"delete"`), or all but the latest (`"keep_latest"`), in one transaction.

        Safe to call while a run of the thread is active.

        Args:
            thread_ids: the threads.
            strategy: `"keep_latest"` or `"delete"`.
            count: how many checkpoints of every namespace to keep.
            shrink: whether to return free pages to the disk if there are many; otherwise they are reused.

        Raises:
            ValueError: an unknown strategy, or `count` is below 1.
        """
        threads = [str(thread) for thread in thread_ids]
        if strategy == "keep_latest":
            if count < 1:
                raise ValueError(f'`count` is {count}; to keep nothing, use the strategy "delete"')
            self._removal.keep_latest(threads, count, shrink=shrink)
        elif strategy == "delete":
            self._removal.delete(threads, shrink=shrink)
        else:
            raise ValueError(f'`strategy` must be "keep_latest" or "delete", not {strategy!r}')

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Async version of `get_tuple`."""
        if self._threads.is_new(parse_config(config)[0]):
            return None
        return await self._database.run_in_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: PlainDict | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Async version of `list`."""
        pages = checkpoint_pages(self._threads, self._codec, config, filter=filter, before=before, limit=limit)
        while page := await self._database.run_in_thread(next, pages, None):
            for checkpoint in page:
                yield checkpoint

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Async `put`; runs on the event loop if the database is idle, as it is short then."""
        try:
            return self._database.nonblocking(self.put, config, checkpoint, metadata, new_versions)
        except WouldBlock:
            return await self._database.write_in_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_many(self, saves: Sequence[tuple[str, tuple[object, ...]]]) -> None:
        """Async version of `put_many`, in a thread."""
        await self._database.write_in_thread(self.put_many, saves)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, object]], task_id: str, task_path: str = ""
    ) -> None:
        """Async version of `put_writes`; on the event loop if no other writer is active."""
        try:
            self._database.nonblocking(self.put_writes, config, writes, task_id, task_path)
        except WouldBlock:
            await self._database.write_in_thread(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Async version of `delete_thread`."""
        await self._database.run_in_thread(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Async version of `delete_for_runs`."""
        await self._database.run_in_thread(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Async version of `copy_thread`."""
        await self._database.run_in_thread(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(
        self, thread_ids: Sequence[str], *, strategy: str = "keep_latest", count: int = 1, shrink: bool = True
    ) -> None:
        """Async version of `prune`."""
        await self._database.run_in_thread(self.prune, thread_ids, strategy=strategy, count=count, shrink=shrink)


def _enclosing(thread_id: str) -> list[str]:
    """Return the ids of a thread and of those around it: runs inside the run of `a` have threads `a/b`, and no claims."""
    parts = thread_id.split("/")
    return ["/".join(parts[:length]) for length in range(1, len(parts) + 1)]
