"""The storage that a memory is given, or that is made for it."""

from typing import Any, cast

from crewgraph.memory.mem0_storage import Mem0Storage
from crewgraph.memory.rag_storage import RAGStorage

__all__ = ["provided_storage"]


def provided_storage(kind: str, storage: Any, crew: Any, embedder_config: Any, path: Any) -> Any:
    """What was given, else what the configuration names.

    Args:
        kind: what the memory is called in its storage.
        storage: what was given.
        crew: whose it is.
        embedder_config: what turns texts into vectors; Mem0, where it names that.
        path: a folder or a database file.
    """
    if storage is not None:
        return storage
    if isinstance(embedder_config, dict):
        config = cast("dict[str, Any]", embedder_config)
        if config.get("provider") == "mem0":
            return Mem0Storage(kind, crew, config.get("config") or {})
    return RAGStorage(type=kind, embedder_config=embedder_config, crew=crew, path=path)
