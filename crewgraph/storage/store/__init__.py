"""LangGraph store with semantic search on SQLite and FAISS, for any LangGraph program."""

from typing import TYPE_CHECKING

from crewgraph.lazy import lazy_exports

if TYPE_CHECKING:
    from crewgraph.storage.store.faiss_store import FaissStore

__all__ = ["FaissStore"]

if not TYPE_CHECKING:  # type checkers know the name, and report others
    __getattr__ = lazy_exports(
        __name__, {"FaissStore": "crewgraph.storage.store.faiss_store"}
    )  # FAISS and NumPy take a while
