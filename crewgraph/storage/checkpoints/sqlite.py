"""LangGraph's checkpointer on one SQLite file, for `invoke` and `ainvoke` alike."""

import os
import random
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from crewgraph.storage.checkpoints.codec import Codec, config_of, place
from crewgraph.storage.checkpoints.listing import Latest, LatestCheckpoints, Listing, Wanted
from crewgraph.storage.checkpoints.removal import Removal, forget_old
from crewgraph.storage.checkpoints.threads import Key, Threads, pasts
from crewgraph.storage.checkpoints.values import StrictSerializer, Write
from crewgraph.storage.database import Closing, Database, WouldWait

__all__ = ["SqliteCheckpointer"]


# Seeded by the system, once: asking the system for each version would cost more than storing it.
_chance = random.Random()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_chance.seed)


def _any(name: str) -> bool:
    return True


class SqliteCheckpointer(Closing, BaseCheckpointSaver[str]):
    """Keeps the checkpoints of graphs in one SQLite file.

    One object serves sync and async graphs, any number of threads and event loops; several processes may use
    the same file. A channel's value is stored when it changes, and a checkpoint as the difference to its
    parent: the bytes per superstep do not grow with the graph.

    A process that is killed loses nothing that was saved. With `synchronous="NORMAL"` a power cut may take
    back the last moments (the file stays sound); `"FULL"` waits for the disk at every save.

    Only built-in types, messages and LangGraph's own types are read back as what they were; other classes
    come back as a dict of their fields. Pass `serde` (or use `with_allowlist`) to allow more.
    """

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
        """Open the file, or create it for its owner alone (0600), with the folders that are missing (0700).

        Args:
            path: the file, or `":memory:"` for a database that ends with this object.
            synchronous: SQLite's setting of that name: `OFF`, `NORMAL`, `FULL` or `EXTRA`.
            retention_days: threads not written for so many days are removed now; None or 0 keeps all.
            max_bytes: the oldest threads are removed now while more is stored; None or 0 sets no bound.
            busy_timeout: seconds to wait while another process writes.
            serde: how values become bytes.

        Raises:
            StorageError: the file cannot be used; the message says why and what to do.
            ValueError: `synchronous` is none of SQLite's settings.
        """
        super().__init__(serde=serde or StrictSerializer())
        self._database = Database(os.fspath(path), synchronous=synchronous, timeout=busy_timeout)
        self._threads = Threads(self._database)
        self._codec = Codec(self.serde, self._database.path)
        self._removal = Removal(self._threads, self._codec.metadata)
        forget_old(self._database, self._removal, retention_days, max_bytes)

    @property
    def path(self) -> str | None:
        """The file; None for a database that ends with this object."""
        return None if self._database.path == ":memory:" else self._database.path

    def close(self) -> None:
        """Close the file, also for clones made by `with_allowlist`; twice is once."""
        self._database.close()

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> "SqliteCheckpointer":
        """The same database read with more classes allowed, as (module, class) pairs."""
        clone = super().with_allowlist(extra_allowlist)
        assert isinstance(clone, SqliteCheckpointer)
        clone._codec = Codec(clone.serde, self._database.path)
        return clone

    def get_next_version(self, current: str | float | None, channel: None) -> str:
        """The version after another: its number plus one, and a random part that tells forks apart."""
        number = int(current.split(".", 1)[0]) if isinstance(current, str) else int(current or 0)
        return f"{number + 1:08d}.{_chance.getrandbits(24):06x}"

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint a config names, or the latest of its thread and namespace; None if there is none.

        Raises:
            StorageError: the database cannot be read.
        """
        thread, ns, id = place(config)
        stored = self._threads.find(thread, ns, id)
        return None if stored is None else self._codec.checkpoint_tuple(stored)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints, newest first; read in pages while they are taken.

        Args:
            config: a thread, perhaps a namespace and a checkpoint; None lists all threads.
            filter: metadata that must be equal.
            before: only checkpoints older than the one this config names.
            limit: at most so many.

        Raises:
            StorageError: the database cannot be read.
        """
        listing = Listing(self._threads, self._codec, config, filter=filter, before=before, limit=limit)
        while page := listing.page():
            yield from page

    def latest(
        self, *, filter: dict[str, Any] | None = None, threads: Wanted = _any, channels: Wanted = _any
    ) -> Iterator[Latest]:
        """The latest checkpoint of each thread, those written last first; none of those before it is read.

        Args:
            filter: metadata that must be equal.
            threads: says of a thread's name whether it is wanted.
            channels: says of a channel's name whether its value, and what was written to it, is wanted.

        Raises:
            StorageError: the database cannot be read.
        """
        pages = LatestCheckpoints(self._threads, self._codec, filter=filter, threads_of=threads, channels=channels)
        while page := pages.page():
            yield from page

    def threads(self, beginning: str = "") -> Sequence[str]:
        """The names of the threads that begin like this, sorted.

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
        """Store a checkpoint, as a child of the one that the config names.

        Returns:
            The config that names it.

        Raises:
            StorageError: the database cannot be written; what was stored before is as it was.
            TypeError: a value cannot be serialized.
        """
        new = self._codec.row(config, checkpoint, metadata)
        if not self._threads.save(new, self._codec.values(checkpoint, new_versions)):
            self._threads.save(new, self._codec.values(checkpoint, checkpoint["channel_values"]))
        return config_of(new.key)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task wrote at a checkpoint.

        A write of the same task at the same position is kept as it was first stored; errors, interrupts and
        answers to them are replaced.

        Raises:
            StorageError: the database cannot be written.
            TypeError: a value cannot be serialized.
        """
        thread, ns, id = place(config)
        rows = [
            Write(WRITES_IDX_MAP.get(channel, position), channel, self._codec.typed(value))
            for position, (channel, value) in enumerate(writes)
        ]
        if rows:
            self._threads.append(Key(thread, ns, id or ""), task_id, task_path, rows)

    def delete_thread(self, thread_id: str) -> None:
        """Remove a thread with all its namespaces, checkpoints and writes."""
        self._removal.delete([str(thread_id)])

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Remove the checkpoints whose metadata names one of these runs; others stay readable.

        Raises:
            StorageError: a `DeltaChannel` of another checkpoint is rebuilt from one of them; nothing was
            removed.
        """
        self._removal.delete_runs([str(run) for run in run_ids])

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread with all its namespaces, checkpoints and writes."""
        self._removal.copy(str(source_thread_id), str(target_thread_id))

    def prune(
        self, thread_ids: Sequence[str], *, strategy: str = "keep_latest", count: int = 1, shrink: bool = True
    ) -> None:
        """Remove all checkpoints of some threads (`"delete"`), or all but the latest (`"keep_latest"`), in one transaction.

        A run may go on meanwhile.

        Args:
            thread_ids: the threads.
            strategy: which are removed.
            count: how many are the latest, in every namespace.
            shrink: whether the disk is given free pages back where these are many; else they are kept for what comes.

        Raises:
            ValueError: there is no such strategy, or none would be kept.
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

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """What `DeltaChannel`s are rebuilt from: the ancestors' writes, and a value to start with."""
        return self._codec.histories(self._database.read(pasts, self._threads, *place(config), channels))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Async face of `get_tuple`."""
        return await self._database.aside(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Async face of `list`."""
        listing = Listing(self._threads, self._codec, config, filter=filter, before=before, limit=limit)
        while page := await self._database.aside(listing.page):
            for one in page:
                yield one

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Async face of `put`; on the event loop if nobody else is writing, as it is short then."""
        try:
            return self._database.at_once(self.put, config, checkpoint, metadata, new_versions)
        except WouldWait:
            return await self._database.aside(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Async face of `put_writes`; on the event loop if nobody else is writing."""
        try:
            self._database.at_once(self.put_writes, config, writes, task_id, task_path)
        except WouldWait:
            await self._database.aside(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Async face of `delete_thread`."""
        await self._database.aside(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Async face of `delete_for_runs`."""
        await self._database.aside(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Async face of `copy_thread`."""
        await self._database.aside(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(
        self, thread_ids: Sequence[str], *, strategy: str = "keep_latest", count: int = 1, shrink: bool = True
    ) -> None:
        """Async face of `prune`."""
        await self._database.aside(self.prune, thread_ids, strategy=strategy, count=count, shrink=shrink)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Async face of `get_delta_channel_history`."""
        return await self._database.aside(self.get_delta_channel_history, config=config, channels=channels)
