"""The client of vectors that is meant where none is named."""

from contextvars import ContextVar

from pydantic import BaseModel, ConfigDict, SkipValidation

from crewgraph_compat.stand_ins.base_client import BaseClient
from crewgraph_compat.stand_ins.rag_config import ChromaDBConfig, RagConfigType
from crewgraph_compat.stand_ins.rag_factory import create_client

__all__ = ["RagContext", "clear_rag_config", "get_rag_client", "get_rag_config", "set_rag_config"]


class RagContext(BaseModel):
    """A configuration, and its client once that was asked for."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    config: SkipValidation[RagConfigType]
    client: SkipValidation[BaseClient | None] = None


_context: ContextVar[RagContext | None] = ContextVar("crewgraph_rag", default=None)


def set_rag_config(config: RagConfigType) -> None:
    """Let a configuration hold from here on, in this context."""
    _context.set(RagContext(config=config))


def get_rag_config() -> RagConfigType:
    """The configuration that holds: the one that was set, else one with the local embedder."""
    return _here().config


def get_rag_client() -> BaseClient:
    """The client of the configuration that holds, the same one each time."""
    context = _here()
    if context.client is None:
        context.client = create_client(context.config)
    return context.client


def clear_rag_config() -> None:
    """Forget the configuration that was set, and its client."""
    _context.set(None)


def _here() -> RagContext:
    context = _context.get()
    if context is None:
        context = RagContext(config=ChromaDBConfig())
        _context.set(context)
    return context
