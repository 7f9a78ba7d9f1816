"""How older programs made embedders."""

from typing import Any

from crewgraph.deprecations import warn_deprecated
from crewgraph_compat.stand_ins.embedder_factory import build_embedder

__all__ = ["EmbeddingConfigurator"]


class EmbeddingConfigurator:
    """Makes embedders of their descriptions; nowadays `build_embedder` does."""

    def configure_embedder(self, embedder_config: Any = None) -> Any:
        """The embedder that is described; the local one where nothing is.

        Raises:
            EmbedderError: it describes none.
            MissingExtra: its provider's package is not installed.
        """
        warn_deprecated(
            "`EmbeddingConfigurator` is gone",
            "import `build_embedder` from `crewai.rag.embeddings.factory`",
            by_hand=True,
        )
        return build_embedder(embedder_config or None)
