"""Where runs are kept: a LangGraph checkpointer on SQLite."""

from crewgraph.checkpoints.sqlite import SqliteCheckpointer

__all__ = ["SqliteCheckpointer"]
