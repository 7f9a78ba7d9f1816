"""Conversion between LangGraph's checkpoints and the rows that `Threads` stores."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    PendingWrite,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from crewgraph.schema import PlainMapping
from crewgraph.storage.checkpoints.schema import damaged_checkpoints
from crewgraph.storage.checkpoints.threads import CheckpointRows, Key, StoredCheckpoint
from crewgraph.storage.checkpoints.values import Typed

_CHECKPOINT_FIELDS = frozenset(Checkpoint.__annotations__)


class _Head(NamedTuple):
    v: int
    ts: str
    updated: object
    metadata: Any
    more: Any


class Codec:
    """Encodes and decodes rows with one serializer."""

    def __init__(self, serde: SerializerProtocol, path: str) -> None:
        self._serde = serde
        self._path = path
        self.dumps = serde.dumps_typed
        """Serializes a value that is not None; raises `NotPlain` (a TypeError) if that cannot be done."""

    def encode_checkpoint(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> CheckpointRows:
        """Encode a checkpoint with the values of the channels that changed."""
        thread, ns, parent = parse_config(config)
        full_metadata = get_checkpoint_metadata(config, metadata)
        run = full_metadata.get("run_id")
        extra_fields = {key: value for key, value in checkpoint.items() if key not in _CHECKPOINT_FIELDS}
        head = _Head(checkpoint["v"], checkpoint["ts"], checkpoint.get("updated_channels"), full_metadata, extra_fields)
        values = checkpoint["channel_values"]
        return CheckpointRows(
            Key(thread, ns, checkpoint["id"]),
            parent,
            checkpoint["channel_versions"],
            checkpoint["versions_seen"],
            values,
            None if run is None else str(run),
            self.dumps(tuple(head)),
            self._typed(values, new_versions),
            lambda: self._typed(values, values),
        )

    def _typed(self, values: PlainMapping, channels: Iterable[str]) -> dict[str, Typed]:
        return {
            channel: None if (value := values[channel]) is None else self.dumps(value)
            for channel in channels
            if channel in values
        }

    def metadata(self, kind: str, head: bytes) -> PlainMapping:
        """Decode the metadata of a stored checkpoint."""
        return self._head((kind, head), "a checkpoint").metadata

    def filter(self, wanted: PlainMapping) -> Callable[[str, bytes], bool]:
        """Return what tells whether the metadata of a stored checkpoint has these values."""
        if not wanted:
            return lambda kind, head: True

        def matches(kind: str, head: bytes) -> bool:
            metadata = self.metadata(kind, head)
            return all(metadata.get(key) == value for key, value in wanted.items())

        return matches

    def checkpoint_tuple(self, stored: StoredCheckpoint) -> CheckpointTuple:
        """Decode a stored checkpoint.

        Raises:
            StorageError: its bytes cannot be decoded.
        """
        key, versions = stored.key, stored.versions
        head = self._head(stored.head, f"checkpoint `{key.id}`")
        checkpoint = head.more | {
            "v": head.v,
            "ts": head.ts,
            "id": key.id,
            "updated_channels": head.updated,
            "channel_values": {
                channel: self._value(typed, f"channel `{channel}` at checkpoint `{key.id}`")
                for channel, typed in stored.values
            },
            "channel_versions": dict(versions.channels),
            "versions_seen": {node: dict(seen) for node, seen in versions.seen.items()},
        }
        return CheckpointTuple(
            config_for_key(key),
            checkpoint,
            head.metadata,
            config_for_key(key._replace(id=stored.parent)) if stored.parent else None,
            self._writes(stored.writes),
        )

    def _writes(self, writes: Iterable[tuple[str, str, Typed]]) -> list[PendingWrite]:
        return [
            (task, channel, self._value(typed, f"a write of task `{task}` to `{channel}`"))
            for task, channel, typed in writes
        ]

    def _head(self, typed: tuple[str, bytes], subject: str) -> "_Head":
        try:
            head = _Head(*self._value(typed, subject))
        except TypeError as error:
            raise damaged_checkpoints(f"{subject} has an unexpected structure ({error})", self._path) from error
        if isinstance(head.metadata, dict) and isinstance(head.more, dict):
            return head
        raise damaged_checkpoints(f"{subject} has an unexpected structure", self._path)

    def _value(self, typed: Typed, subject: str) -> Any:
        if typed is None:
            return None
        try:
            return self._serde.loads_typed(typed)
        except (ValueError, TypeError, NotImplementedError, RecursionError) as error:
            raise damaged_checkpoints(f"{subject} of kind {typed[0]!r} cannot be read ({error})", self._path) from error


def parse_config(config: RunnableConfig) -> tuple[str, str, str | None]:
    """Return the thread id, the namespace and the checkpoint id (or None) of a config.

    Raises:
        ValueError: the config names no thread.
    """
    names: PlainMapping = config.get("configurable") or {}
    if "thread_id" not in names:
        raise ValueError('A checkpointer needs a thread: pass config={"configurable": {"thread_id": ...}}.')
    return str(names["thread_id"]), names.get("checkpoint_ns") or "", names.get("checkpoint_id") or None


def config_for_key(key: Key) -> RunnableConfig:
    """The config that names a checkpoint."""
    return {"configurable": {"thread_id": key.thread, "checkpoint_ns": key.ns, "checkpoint_id": key.id}}
