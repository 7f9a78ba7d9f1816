"""Texts as vectors, for storages of one's own."""

from typing import Any

from crewgraph.storage.vectors.resolve import embedder_of

__all__ = ["embed_text", "embed_texts"]


def embed_text(embedder: Any, text: str) -> list[float]:
    """A text as a vector; an empty one for a text without words.

    Args:
        embedder: as a memory takes it.
        text: the text.
    """
    return embed_texts(embedder, [text])[0]


def embed_texts(embedder: Any, texts: list[str]) -> list[list[float]]:
    """Texts as vectors, with one request; an empty one for each text without words."""
    worded = [text for text in texts if text.strip()]
    made = iter(embedder_of(embedder).embeddings.embed_documents(worded) if worded else ())
    return [list(next(made)) if text.strip() else [] for text in texts]
