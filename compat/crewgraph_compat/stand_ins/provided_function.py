"""Embedding functions of providers, made of keywords: crewgraph's own embedders behind a class for each."""

from collections.abc import Mapping
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crewgraph.extras import load
from crewgraph.storage.vectors.embedder import NamedEmbedder
from crewgraph.storage.vectors.providers import provider_of
from crewgraph.storage.vectors.resolve import embedder_of

__all__ = [
    "ChromaFunction",
    "GoogleGenAIVertexEmbeddingFunction",
    "ProvidedFunction",
    "VoyageAIEmbeddingFunction",
    "WatsonXEmbeddingFunction",
]


class ProvidedFunction:
    """What embeds as a provider does; called with a list of texts.

    Args:
        config: what the provider is told; what is None is left to the environment.

    Raises:
        EmbedderError: the provider does not know a key, needs one, or cannot be had here.
        MissingExtra: its package is not installed.
    """

    provider: ClassVar[str] = ""
    """Who it is."""

    usual: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """What the clients used here do anyway, and have no keys for."""

    def __init__(self, **config: Any) -> None:
        told = {key: value for key, value in config.items() if value is not None}
        self.embedder: NamedEmbedder = self._embedder(
            {key: value for key, value in told.items() if key not in self.usual or self.usual[key] != value}
        )

    def _embedder(self, config: dict[str, Any]) -> NamedEmbedder:
        return embedder_of({"provider": self.provider, "config": config})

    def __call__(self, input: list[str] | str) -> list[NDArray[np.float32]]:
        return self.embedder([input] if isinstance(input, str) else input)

    def embed_query(self, input: list[str] | str) -> list[NDArray[np.float32]]:
        """The vectors of queries."""
        texts = [input] if isinstance(input, str) else input
        return [np.array(self.embedder.embeddings.embed_query(text), np.float32) for text in texts]

    @classmethod
    def name(cls) -> str:
        """The provider's name."""
        return cls.provider


class VoyageAIEmbeddingFunction(ProvidedFunction):
    """Voyage AI's embeddings."""

    provider = "voyageai"
    usual = MappingProxyType({"max_retries": 0})


class WatsonXEmbeddingFunction(ProvidedFunction):
    """IBM watsonx's embeddings."""

    provider = "watsonx"
    usual = MappingProxyType(
        {"batch_size": 100, "concurrency_limit": 10, "persistent_connection": True, "verbose": True}
    )


class GoogleGenAIVertexEmbeddingFunction(ProvidedFunction):
    """Google's embeddings on Vertex AI."""

    provider = "google-vertex"


class ChromaFunction(ProvidedFunction):
    """What embeds with a function of ChromaDB's, where that is installed, for providers that crewgraph has no client of."""

    chroma: ClassVar[str] = ""
    """What the function is called there."""

    def _embedder(self, config: dict[str, Any]) -> NamedEmbedder:
        if find_spec("chromadb") is None:
            provider_of(self.provider)  # raises, and says what to write instead
        function = getattr(load("chromadb.utils.embedding_functions"), self.chroma)(**config)
        # Named here: looking at it would load its model.
        told = [str(config[word]) for word in ("model_name", "checkpoint", "instruction") if word in config]
        name = "/".join([self.provider, *told])
        return embedder_of({"provider": "custom", "config": {"embedding_callable": function, "name": name}})
