"""Checkpoints from which another process continues a run of a crew, a flow or an agent: a view of the checkpointer.

The checkpointer (`crewgraph.storage.checkpoints`) stores the runs; beside them it stores what ran, as data. A checkpoint is an
address: the database, the thread, and how far its run had come.
"""

from crewgraph.contrib.snapshots.config import (
    BaseProvider,
    CheckpointConfig,
    CheckpointEventType,
    JsonProvider,
    SqliteProvider,
    apply_checkpoint,
)
from crewgraph.contrib.snapshots.recording import RuntimeState

__all__ = [
    "BaseProvider",
    "CheckpointConfig",
    "CheckpointEventType",
    "JsonProvider",
    "RuntimeState",
    "SqliteProvider",
    "apply_checkpoint",
]
