"""LangGraph's checkpoints as rows, and back."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    PendingWrite,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from crewgraph.storage.checkpoints.threads import Key, NewCheckpoint, Past, StoredCheckpoint
from crewgraph.storage.checkpoints.values import Typed
from crewgraph.storage.database import damaged

__all__ = ["Codec", "config_of", "place"]


_NAMED = frozenset(Checkpoint.__annotations__)


class _Head(NamedTuple):
    v: int
    ts: str
    updated: Any
    metadata: Any
    more: Any


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
        more = {key: value for key, value in checkpoint.items() if key not in _NAMED}
        head = _Head(checkpoint["v"], checkpoint["ts"], checkpoint.get("updated_channels"), told, more)
        return NewCheckpoint(
            Key(thread, ns, checkpoint["id"]),
            parent,
            checkpoint["channel_versions"],
            checkpoint["versions_seen"],
            checkpoint["channel_values"],
            None if run is None else str(run),
            self._serde.dumps_typed(tuple(head)),
        )

    def values(self, checkpoint: Checkpoint, channels: Iterable[str]) -> dict[str, Typed]:
        """The values of those channels that have one."""
        values = checkpoint["channel_values"]
        return {channel: self.typed(values[channel]) for channel in channels if channel in values}

    def typed(self, value: object) -> Typed:
        """A value as bytes.

        Raises:
            TypeError: it cannot be serialized.
        """
        return None if value is None else self._serde.dumps_typed(value)

    def metadata(self, kind: str, head: bytes) -> Mapping[str, Any]:
        """The metadata of a stored checkpoint."""
        return self._head((kind, head), "a checkpoint").metadata

    def checkpoint_tuple(self, stored: StoredCheckpoint) -> CheckpointTuple:
        """A stored checkpoint as LangGraph wants it.

        Raises:
            StorageError: its bytes make no sense.
        """
        key, versions = stored.key, stored.versions
        head = self._head(stored.head, f"checkpoint `{key.id}`")
        checkpoint: Any = head.more | {
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
            config_of(key),
            checkpoint,
            head.metadata,
            config_of(key._replace(id=stored.parent)) if stored.parent else None,
            self._writes(stored.writes),
        )

    def histories(self, pasts: Mapping[str, Past]) -> dict[str, DeltaChannelHistory]:
        """The pasts of channels as LangGraph wants them.

        Raises:
            StorageError: their bytes make no sense.
        """
        histories: dict[str, DeltaChannelHistory] = {}
        for channel, past in pasts.items():
            histories[channel] = {"writes": self._writes(past.writes)}
            for typed in past.seed:
                histories[channel]["seed"] = self._value(typed, f"channel `{channel}`")
        return histories

    def _writes(self, writes: Iterable[tuple[str, str, Typed]]) -> list[PendingWrite]:
        return [
            (task, channel, self._value(typed, f"a write of task `{task}` to `{channel}`"))
            for task, channel, typed in writes
        ]

    def _head(self, typed: tuple[str, bytes], what: str) -> "_Head":
        try:
            head = _Head(*self._value(typed, what))
        except TypeError as error:
            raise damaged(f"{what} has other parts than it should ({error})", self._path) from error
        if isinstance(head.metadata, dict) and isinstance(head.more, dict):
            return head
        raise damaged(f"{what} has other parts than it should", self._path)

    def _value(self, typed: Typed, what: str) -> Any:
        if typed is None:
            return None
        try:
            return self._serde.loads_typed(typed)
        except (ValueError, TypeError, NotImplementedError, RecursionError) as error:
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
