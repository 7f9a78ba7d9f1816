"""What a store embeds with."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from langgraph.store.base import IndexConfig

from crewgraph.errors import EmbedderError
from crewgraph.stores.plan import EVERYTHING
from crewgraph.vectors.embedder import NamedEmbedder
from crewgraph.vectors.resolve import embedder_of

__all__ = ["StoreEmbedder", "embedder_for"]


class StoreEmbedder:
    """An embedder, what it embeds of a value, and what its vectors are called."""

    def __init__(self, named: NamedEmbedder, dims: int | None, fields: Sequence[str]) -> None:
        self.embeddings = named.embeddings
        self.dims = dims
        self.fields = tuple(fields)
        self._named = named

    @property
    def config(self) -> IndexConfig:
        """The same as LangGraph has it."""
        return {"dims": self.dims or 0, "embed": self.embeddings, "fields": list(self.fields)}

    def space(self) -> tuple[str, int]:
        """The name and the dimensions of the space; vectors in another one are never compared with these.

        To be asked when something was embedded and no transaction is open: to find its name, an embedder may embed a text.
        """
        assert self.dims is not None
        name = self._named.name
        return (name if self.fields == (EVERYTHING,) else f"{name} of {', '.join(self.fields)}"), self.dims

    def packed(self, vectors: Sequence[Sequence[float]], texts: int) -> list[bytes]:
        """Vectors as bytes.

        Raises:
            EmbedderError: they are not as many as the texts, or not all of the same length.
        """
        if len(vectors) != texts:
            raise EmbedderError(f"The embedder `{self._named.name}` gave {len(vectors)} vectors for {texts} texts.")
        return [self._bytes(vector) for vector in vectors]

    def _bytes(self, vector: Sequence[float]) -> bytes:
        row = np.asarray(vector, "<f4")
        self.dims = self.dims or row.size
        if not len(row) or row.shape != (self.dims,):
            raise EmbedderError(
                f"The embedder `{self._named.name}` gave a vector of {row.size} numbers where {self.dims} are expected. "
                "Give `dims` as many as its model makes, or open the store anew where the model has changed: "
                "what it holds is embedded again then."
            )
        if not np.isfinite(row).all():
            raise EmbedderError(f"The embedder `{self._named.name}` gave a vector with NaN or infinity in it.")
        return row.tobytes()


def embedder_for(given: object, index: IndexConfig | None) -> StoreEmbedder | None:
    """The embedder of a store; None if it is to have none.

    Args:
        given: an embedder as `embedder_of` takes it, or False for none.
        index: LangGraph's configuration; its `embed` counts where no embedder is given.

    Raises:
        EmbedderError: there is no such embedder.
        MissingExtra: its package is not installed.
    """
    if given is False:
        return None
    config: dict[str, Any] = dict(index or {})
    chosen = config.get("embed") if given is None else given
    if isinstance(chosen, str) and "/" not in chosen:
        chosen = chosen.replace(":", "/", 1)  # "openai:text-embedding-3-small", as LangGraph writes it
    return StoreEmbedder(embedder_of(chosen), config.get("dims"), config.get("fields") or (EVERYTHING,))
