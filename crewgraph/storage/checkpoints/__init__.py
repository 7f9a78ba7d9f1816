"""Where runs are kept: a LangGraph checkpointer on SQLite."""

from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer

__all__ = ["SqliteCheckpointer"]
