"""An embedder and the name that its vectors are kept under."""

from collections.abc import Callable
from functools import cached_property

from langchain_core.embeddings import Embeddings

__all__ = ["NamedEmbedder"]


class NamedEmbedder:
    """What turns texts into vectors, and what these vectors are: those of another name are never compared with them.

    Args:
        embeddings: what embeds.
        name: "provider/model/dimensions", "local/1/256"; or a function that finds it out when it is first asked for.
    """

    embeddings: Embeddings

    def __init__(self, embeddings: Embeddings, name: str | Callable[[], str]) -> None:
        self.embeddings = embeddings
        self._name = name

    @cached_property
    def name(self) -> str:
        """The identity of the vectors; it holds no address and no key.

        Finding it out may embed one text, where nothing else tells how long vectors are; then it blocks, and fails as
        embedding does.
        """
        return self._name if isinstance(self._name, str) else self._name()

    def __repr__(self) -> str:
        return f"NamedEmbedder({self._name if isinstance(self._name, str) else type(self.embeddings).__name__})"
