"""A LangGraph store that finds by meaning, for any LangGraph program."""

from crewgraph.storage.store.faiss_store import FaissStore

__all__ = ["FaissStore"]
