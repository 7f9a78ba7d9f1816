"""Who makes the storages of knowledge that names none."""

from collections.abc import Callable
from typing import Any

from crewgraph.knowledge.storage.base_knowledge_storage import BaseKnowledgeStorage

__all__ = ["KnowledgeStorageFactory", "resolve_knowledge_storage", "set_knowledge_storage_factory"]

KnowledgeStorageFactory = Callable[[Any, str | None], BaseKnowledgeStorage | None]
"""Is given an embedder and the name of a collection; gives their storage, or None for the usual one."""

_set: list[KnowledgeStorageFactory] = []


def set_knowledge_storage_factory(factory: KnowledgeStorageFactory | None) -> None:
    """Let a function make the storage wherever knowledge is made without one, in this process; None for none."""
    _set[:] = [] if factory is None else [factory]


def resolve_knowledge_storage(embedder: Any, collection_name: str | None) -> BaseKnowledgeStorage | None:
    """What that function makes of an embedder and a collection's name; None where there is no such function."""
    return _set[0](embedder, collection_name) if _set else None
