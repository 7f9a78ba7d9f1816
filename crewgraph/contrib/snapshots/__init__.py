"""Snapshots of what runs, as texts: in files of a folder, or in an SQLite file.

The run itself is stored by a checkpointer (`crewgraph.storage.checkpoints`); a snapshot says which run that is, how far
it was, and of what.
"""

from crewgraph.contrib.snapshots.config import CheckpointConfig, CheckpointEventType, apply_checkpoint
from crewgraph.contrib.snapshots.providers import BaseProvider, JsonProvider, SqliteProvider, detect_provider
from crewgraph.contrib.snapshots.runtime_state import RuntimeState

__all__ = [
    "BaseProvider",
    "CheckpointConfig",
    "CheckpointEventType",
    "JsonProvider",
    "RuntimeState",
    "SqliteProvider",
    "apply_checkpoint",
    "detect_provider",
]
