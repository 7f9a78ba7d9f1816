"""Snapshots of what runs, as texts: in files of a folder, or in an SQLite file.

A run itself is kept by a checkpointer (`crewgraph.storage.checkpoints`); a snapshot says which run that is, how far it was, and of what.
"""

from crewgraph.snapshots.detect import detect_provider
from crewgraph.snapshots.json_provider import JsonProvider
from crewgraph.snapshots.provider import BaseProvider
from crewgraph.snapshots.sqlite_provider import SqliteProvider

__all__ = ["BaseProvider", "JsonProvider", "SqliteProvider", "detect_provider"]
