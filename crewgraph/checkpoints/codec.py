"""LangGraph's checkpoints as rows, and back."""

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from crewgraph.checkpoints.faults import damaged
from crewgraph.checkpoints.threads import Key, NewCheckpoint, StoredCheckpoint
from crewgraph.checkpoints.values import Blob
from crewgraph.checkpoints.versions import Versions

__all__ = ["Codec", "config_of", "place"]

_BY_VERSION = (
    "channel_values",
    "channel_versions",
    "versions_seen",
)  # stored apart from the rest of a checkpoint


class Codec:
    """A serializer's way of reading and writing rows."""

    def __init__(self, serde: SerializerProtocol, path: str) -> None:
        self._serde = serde
        self._path = path

    def row(self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata) -> NewCheckpoint:
        """A checkpoint without its values."""
        thread, ns, parent = place(config)
        told = get_checkpoint_metadata(config, metadata)
        run = told.get("run_id")
        rest = {key: value for key, value in checkpoint.items() if key not in _BY_VERSION}
        return NewCheckpoint(
            Key(thread, ns, checkpoint["id"]),
            parent,
            Versions(checkpoint["channel_versions"], checkpoint["versions_seen"]),
            None if run is None else str(run),
            *self._serde.dumps_typed([rest, told]),
        )

    def blobs(self, checkpoint: Checkpoint, versions: ChannelVersions) -> list[Blob]:
        """The values of the channels that have a version given; a channel without a value has no row."""
        values = checkpoint["channel_values"]
        return [
            Blob(str(version), channel, *self._serde.dumps_typed(values[channel]))
            for channel, version in versions.items()
            if channel in values
        ]

    def metadata(self, kind: str, head: bytes) -> Mapping[str, Any]:
        """The metadata of a stored checkpoint."""
        return self._value((kind, head), "metadata")[1]

    def checkpoint_tuple(self, stored: StoredCheckpoint) -> CheckpointTuple:
        """A stored checkpoint as LangGraph wants it.

        Raises:
            StorageError: its bytes make no sense.
        """
        key = stored.key
        rest, metadata = self._value((stored.kind, stored.head), f"checkpoint `{key.id}`")
        channels, seen = stored.versions.copied()
        values = {
            channel: self._value((kind, data), f"channel `{channel}` at checkpoint `{key.id}`")
            for channel, kind, data in stored.values
        }
        checkpoint = rest | {"channel_values": values, "channel_versions": channels, "versions_seen": seen}
        return CheckpointTuple(
            config_of(key),
            checkpoint,
            metadata,
            config_of(Key(key.thread, key.ns, stored.parent)) if stored.parent else None,
            [
                (task, channel, self._value((kind, data), f"a write to `{channel}` at checkpoint `{key.id}`"))
                for task, channel, kind, data in stored.writes
            ],
        )

    def _value(self, typed: tuple[str, bytes], what: str) -> Any:
        try:
            return self._serde.loads_typed(typed)
        except (ValueError, TypeError, NotImplementedError) as error:
            raise damaged(f"{what} of kind {typed[0]!r} cannot be read ({error})", self._path) from error


def place(config: RunnableConfig) -> tuple[str, str, str | None]:
    """The thread, the namespace and the checkpoint that a config names."""
    names: Mapping[str, Any] = config.get("configurable") or {}
    if "thread_id" not in names:
        raise ValueError('A checkpointer needs a thread: pass config={"configurable": {"thread_id": ...}}.')
    return str(names["thread_id"]), names.get("checkpoint_ns") or "", names.get("checkpoint_id") or None


def config_of(key: Key) -> RunnableConfig:
    """The config that names a checkpoint."""
    return {"configurable": {"thread_id": key.thread, "checkpoint_ns": key.ns, "checkpoint_id": key.id}}
