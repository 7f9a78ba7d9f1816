"""LangChain retrievers, document loaders and documents as sources."""

from collections.abc import Sequence
from typing import Any, cast

from pydantic import Field

from crewgraph.core.digests import digest
from crewgraph.core.loops.bridge import acall
from crewgraph.core.plain import plain
from crewgraph.errors import SourceError
from crewgraph.knowledge.passage import Passage, SearchResult
from crewgraph.knowledge.source.base import BaseKnowledgeSource
from crewgraph.schema import PlainDict

_SCORES = ("relevance_score", "score")


def is_retriever(value: Any) -> bool:
    """Return whether a value is a LangChain retriever, by its methods."""
    return not isinstance(value, type) and all(
        callable(getattr(value, name, None)) for name in ("invoke", "ainvoke", "_get_relevant_documents")
    )


def is_loader(value: Any) -> bool:
    """Return whether a value is a LangChain document loader, by its methods."""
    return not isinstance(value, type) and all(callable(getattr(value, name, None)) for name in ("load", "lazy_load"))


def is_document(value: Any) -> bool:
    """Return whether a value is a LangChain document, by its attributes."""
    return isinstance(getattr(value, "page_content", None), str) and isinstance(getattr(value, "metadata", None), dict)


class DocumentsKnowledgeSource(BaseKnowledgeSource):
    """LangChain documents, or a loader of them: `DocumentsKnowledgeSource(loader=WebBaseLoader(...))`."""

    documents: list[Any] = Field(default_factory=list[Any])
    """The documents."""

    loader: Any = None
    """Loads further documents at the start of a run."""

    def load_content(self) -> list[Any]:
        """All of the documents."""
        loaded: list[object] = [] if self.loader is None else list(self.loader.load())
        for document in (documents := [*self.documents, *loaded]):
            if not is_document(document):
                raise SourceError(
                    f"the knowledge source `{self.title}` contains {document!r:.60}, which is not a LangChain document"
                )
        return documents

    def _parts(self) -> list[Passage]:
        return [Passage(document.page_content, plain(document.metadata)) for document in self.load_content()]


class RetrieverKnowledgeSource(BaseKnowledgeSource):
    """A LangChain retriever, which is called for each query; nothing of it is stored."""

    retriever: Any
    """The retriever."""

    def passages(self) -> list[Passage]:
        """None, as nothing is stored."""
        return []

    def add(self) -> None:
        """Does nothing, as nothing is stored."""

    def search(self, query: str, limit: int) -> list[SearchResult]:
        """The retriever's documents, in its order; the score is 1 if a document has none."""
        return _results(self.retriever.invoke(query), limit)

    async def asearch(self, query: str, limit: int) -> list[SearchResult]:
        """Async `search`."""
        return _results(await acall(self.retriever.ainvoke, query), limit)


def _results(documents: Sequence[object], limit: int) -> list[SearchResult]:
    return [_search_result(document) for document in documents[:limit]]


def _search_result(document: Any) -> SearchResult:
    metadata = cast(PlainDict, plain(document.metadata))
    score = next((metadata[name] for name in _SCORES if isinstance(metadata.get(name), (int, float))), 1.0)
    key = str(getattr(document, "id", None) or digest(document.page_content, metadata))
    return {"id": key, "content": document.page_content, "metadata": metadata, "score": float(score)}
