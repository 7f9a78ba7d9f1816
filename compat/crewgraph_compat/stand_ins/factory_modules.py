"""What a module that makes clients of vectors has."""

from typing import Protocol

from crewgraph_compat.stand_ins.base_client import BaseClient
from crewgraph_compat.stand_ins.rag_config import ChromaDBConfig, QdrantConfig

__all__ = ["ChromaFactoryModule", "QdrantFactoryModule"]


class ChromaFactoryModule(Protocol):
    """A module that makes clients of ChromaDB's configurations."""

    def create_client(self, config: ChromaDBConfig) -> BaseClient: ...


class QdrantFactoryModule(Protocol):
    """A module that makes clients of Qdrant's configurations."""

    def create_client(self, config: QdrantConfig) -> BaseClient: ...
