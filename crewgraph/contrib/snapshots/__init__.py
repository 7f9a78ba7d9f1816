"""Snapshots of running crews, flows and agents, stored as text in a folder or an SQLite file.

A checkpointer (`crewgraph.storage.checkpoints`) stores the run itself; a snapshot identifies that run, its progress and its
definition.
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
