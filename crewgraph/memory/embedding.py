"""Embedding texts, for custom storages."""

from crewgraph.storage.vectors.resolve import embedder_of

__all__ = ["embed_text", "embed_texts"]


def embed_text(embedder: object, text: str) -> list[float]:
    """Embed a text; an empty vector for a blank text.

    Args:
        embedder: as a memory accepts it.
        text: the text.
    """
    return embed_texts(embedder, [text])[0]


def embed_texts(embedder: object, texts: list[str]) -> list[list[float]]:
    """Embed texts with one request; an empty vector for each blank text."""
    non_blank = [text for text in texts if text.strip()]
    vectors = iter(embedder_of(embedder).embeddings.embed_documents(non_blank) if non_blank else ())
    return [list(next(vectors)) if text.strip() else [] for text in texts]
