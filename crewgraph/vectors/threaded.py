"""Blocking embedders in async runs."""

from langchain_core.embeddings import Embeddings

from crewgraph.core.loops.bridge import in_thread

__all__ = ["ThreadedEmbeddings"]


class ThreadedEmbeddings(Embeddings):
    """Another's embeddings whose async methods run the sync ones in a thread.

    The async clients of most libraries keep connections that die with the event loop they were first used on.
    """

    def __init__(self, source: Embeddings) -> None:
        self.source = source

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.source.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        return self.source.embed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return await in_thread(self.source.embed_documents, texts)

    async def aembed_query(self, text: str) -> list[float]:
        return await in_thread(self.source.embed_query, text)
