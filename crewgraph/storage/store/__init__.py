"""LangGraph store with semantic search on SQLite and FAISS, for any LangGraph program."""

from crewgraph.storage.store.faiss_store import FaissStore

__all__ = ["FaissStore"]
