"""An embedder and the name that its vectors are kept under."""

from collections.abc import Callable
from functools import cached_property

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

__all__ = ["NamedEmbedder"]


class NamedEmbedder:
    """What turns texts into vectors, and what these vectors are: those of another name are never compared with them.

    It may be called as CrewAI's embedding functions are: with a list of texts.

    Args:
        embeddings: what embeds; its vectors are finite numbers, all of them as many, of any length.
        name: "provider/model/dimensions", "local/1/256"; or a function that finds it out when it is first asked for.
        given: what it was made of, if that was an object.
    """

    embeddings: Embeddings

    def __init__(self, embeddings: Embeddings, name: str | Callable[[], str], given: object = None) -> None:
        self.embeddings = embeddings
        self.given = given
        self._name = name

    @cached_property
    def name(self) -> str:
        """The identity of the vectors; it holds no key.

        Of a function of one's own it says how long its vectors are: the first time, a text is embedded to find out, which
        blocks, and fails as embedding does.
        """
        return self._name if isinstance(self._name, str) else self._name()

    def __call__(self, input: list[str]) -> list[NDArray[np.float32]]:
        return [np.array(vector, np.float32) for vector in self.embeddings.embed_documents(input)]

    def __repr__(self) -> str:
        return f"NamedEmbedder({self._name if isinstance(self._name, str) else type(self.embeddings).__name__})"
