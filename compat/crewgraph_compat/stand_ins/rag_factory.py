"""A client from a configuration."""

from collections.abc import Callable

from crewgraph_compat.stand_ins.base_client import BaseClient
from crewgraph_compat.stand_ins.rag_client import FaissClient
from crewgraph_compat.stand_ins.rag_config import RagConfigType

__all__ = ["create_client", "register_rag_client_factory", "unregister_rag_client_factory"]

_OURS = ("chromadb", "qdrant")
_registered: dict[str, Callable[[RagConfigType], BaseClient]] = {}


def create_client(config: RagConfigType) -> BaseClient:
    """The client that a configuration asks for: a registered function's for its provider, else one on FAISS.

    Raises:
        EmbedderError: its `embedding_function` is no embedder.
        StorageError: it names a server.
        ValueError: nobody makes clients of its provider.
    """
    provider: str = config.provider
    if provider not in _registered and provider not in _OURS:
        known = ", ".join(f"`{one}`" for one in sorted({*_OURS, *_registered}))
        raise ValueError(
            f"`{provider}` is no provider of vectors. There are: {known}; `register_rag_client_factory` adds others."
        )
    return _registered.get(provider, FaissClient)(config)


def register_rag_client_factory(provider: str, factory: Callable[[RagConfigType], BaseClient]) -> None:
    """Let a function make the clients of a provider."""
    _registered[provider] = factory


def unregister_rag_client_factory(provider: str) -> None:
    """Make the clients of a provider here again."""
    _registered.pop(provider, None)
