"""LangGraph checkpointer on SQLite, and serializers that run no code from a database."""

from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer
from crewgraph.storage.checkpoints.strict import TrustedSerializer
from crewgraph.storage.checkpoints.values import StrictSerializer

__all__ = ["SqliteCheckpointer", "StrictSerializer", "TrustedSerializer"]
