"""What a store embeds with."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings
from langgraph.store.base import IndexConfig, ensure_embeddings

from crewgraph.errors import StorageError
from crewgraph.extras import load
from crewgraph.stores.plan import EVERYTHING

__all__ = ["StoreEmbedder", "embedder_for"]


class StoreEmbedder:
    """An embedder, what it embeds of a value, and what its vectors are called."""

    def __init__(
        self, embeddings: Embeddings, name: Callable[[], str], dims: int | None, fields: Sequence[str]
    ) -> None:
        self.embeddings = embeddings
        self.dims = dims
        self.fields = tuple(fields)
        self._name = name

    @property
    def space(self) -> str:
        """The name of the space: vectors of other embedders, or of other parts of values, are never compared with these."""
        name = self._name()
        return name if self.fields == (EVERYTHING,) else f"{name} of {', '.join(self.fields)}"

    def packed(self, vectors: Sequence[Sequence[float]], texts: int) -> list[bytes]:
        """Vectors as bytes.

        Raises:
            StorageError: they are not as many as the texts, or not all of the same length.
        """
        if len(vectors) != texts:
            raise StorageError(f"The embedder `{self._name()}` gave {len(vectors)} vectors for {texts} texts.")
        return [self._bytes(vector) for vector in vectors]

    def _bytes(self, vector: Sequence[float]) -> bytes:
        row = np.asarray(vector, "<f4")
        self.dims = self.dims or row.size
        if not len(row) or row.shape != (self.dims,):
            raise StorageError(
                f"The embedder `{self._name()}` gave a vector of {row.size} numbers where {self.dims} are expected. "
                "Give `dims` as many as its model makes, or open the store anew where the model has changed: "
                "what it holds is embedded again then."
            )
        if not np.isfinite(row).all():
            raise StorageError(f"The embedder `{self._name()}` gave a vector with NaN or infinity in it.")
        return row.tobytes()


def embedder_for(given: object, index: IndexConfig | None) -> StoreEmbedder | None:
    """The embedder of a store; None if it is to have none.

    Args:
        given: an embedder as `embedder_of` takes it, or False for none.
        index: LangGraph's configuration; its `embed` counts where no embedder is given.
    """
    if given is False:
        return None
    config: dict[str, Any] = dict(index or {})
    fields: Sequence[str] = config.get("fields") or (EVERYTHING,)
    dims: int | None = config.get("dims")
    embed = config.get("embed")
    if given is None and embed is not None and not isinstance(embed, dict):
        if isinstance(embed, str) and ":" not in embed:
            given = embed
        else:
            return StoreEmbedder(ensure_embeddings(embed), lambda: _called(embed), dims, fields)
    named: Any = load("crewgraph.vectors.resolve").embedder_of(embed if given is None else given)
    return StoreEmbedder(named.embeddings, lambda: named.name, dims, fields)


def _called(embed: object) -> str:
    if isinstance(embed, str):
        return embed
    if isinstance(embed, Embeddings):
        model: object = getattr(embed, "model", None) or getattr(embed, "model_name", None)
        return f"{type(embed).__module__}.{type(embed).__qualname__}" + (f"/{model}" if model else "")
    named = embed if hasattr(embed, "__qualname__") else type(embed)
    return f"{named.__module__}.{getattr(named, '__qualname__', '')}"
