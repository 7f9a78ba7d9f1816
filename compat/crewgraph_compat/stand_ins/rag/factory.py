"""Create clients from configurations, and provide the default client."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Protocol

from pydantic import BaseModel, ConfigDict, SkipValidation

from crewgraph_compat.stand_ins.rag.client import BaseClient, FaissClient
from crewgraph_compat.stand_ins.rag.config import ChromaDBConfig, QdrantConfig, RagConfigType

__all__ = [
    "ChromaFactoryModule",
    "QdrantFactoryModule",
    "RagContext",
    "clear_rag_config",
    "create_client",
    "get_rag_client",
    "get_rag_config",
    "register_rag_client_factory",
    "set_rag_config",
    "unregister_rag_client_factory",
]


_OURS = ("chromadb", "qdrant")
_registered: dict[str, Callable[[RagConfigType], BaseClient]] = {}


def create_client(config: RagConfigType) -> BaseClient:
    """Create the client for a configuration: with the factory registered for its provider, or else on FAISS.

    Raises:
        EmbedderError: Its `embedding_function` is not an embedder.
        StorageError: It names a server.
        ValueError: The provider is unknown.
    """
    provider: str = config.provider
    if provider not in _registered and provider not in _OURS:
        known = ", ".join(f"`{item}`" for item in sorted({*_OURS, *_registered}))
        raise ValueError(
            f"`{provider}` is not a vector provider. Available: {known}; `register_rag_client_factory` adds others."
        )
    return _registered.get(provider, FaissClient)(config)


def register_rag_client_factory(provider: str, factory: Callable[[RagConfigType], BaseClient]) -> None:
    """Register a function that creates the clients of a provider."""
    _registered[provider] = factory


def unregister_rag_client_factory(provider: str) -> None:
    """Restore the default clients of a provider."""
    _registered.pop(provider, None)


class RagContext(BaseModel):
    """A configuration and its lazily created client."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    config: SkipValidation[RagConfigType]
    client: SkipValidation[BaseClient | None] = None


_context: ContextVar[RagContext | None] = ContextVar("crewgraph_rag", default=None)


def set_rag_config(config: RagConfigType) -> None:
    """Set the configuration of this context."""
    _context.set(RagContext(config=config))


def get_rag_config() -> RagConfigType:
    """Return the current configuration: the one that was set, or else one with the local embedder."""
    return _here().config


def get_rag_client() -> BaseClient:
    """Return the client of the current configuration, always the same one."""
    context = _here()
    if context.client is None:
        context.client = create_client(context.config)
    return context.client


def clear_rag_config() -> None:
    """Reset the configuration and its client."""
    _context.set(None)


def _here() -> RagContext:
    context = _context.get()
    if context is None:
        context = RagContext(config=ChromaDBConfig())
        _context.set(context)
    return context


class ChromaFactoryModule(Protocol):
    """A module that creates clients from ChromaDB configurations."""

    def create_client(self, config: ChromaDBConfig) -> BaseClient: ...


class QdrantFactoryModule(Protocol):
    """A module that creates clients from Qdrant configurations."""

    def create_client(self, config: QdrantConfig) -> BaseClient: ...
