"""What LangChain's programs have: retrievers, document loaders and documents."""

from collections.abc import Sequence
from typing import Any, cast

from pydantic import Field

from crewgraph.core.digests import digest
from crewgraph.core.loops.bridge import acall, in_thread
from crewgraph.core.plain import plain
from crewgraph.errors import SourceError
from crewgraph.knowledge.passage import Passage, SearchResult
from crewgraph.knowledge.source.base import BaseKnowledgeSource

__all__ = ["DocumentsKnowledgeSource", "RetrieverKnowledgeSource", "is_document", "is_loader", "is_retriever"]


_SCORES = ("relevance_score", "score")


def is_retriever(value: Any) -> bool:
    """Whether something is a LangChain retriever, judged by what it can do."""
    return not isinstance(value, type) and all(
        callable(getattr(value, name, None)) for name in ("invoke", "ainvoke", "_get_relevant_documents")
    )


def is_loader(value: Any) -> bool:
    """Whether something is a LangChain document loader, judged by what it can do."""
    return not isinstance(value, type) and all(callable(getattr(value, name, None)) for name in ("load", "lazy_load"))


def is_document(value: Any) -> bool:
    """Whether something is a LangChain document."""
    return isinstance(getattr(value, "page_content", None), str) and isinstance(getattr(value, "metadata", None), dict)


class DocumentsKnowledgeSource(BaseKnowledgeSource):
    """LangChain documents, or a loader of them: `DocumentsKnowledgeSource(loader=WebBaseLoader(...))`."""

    documents: list[Any] = Field(default_factory=list[Any])
    """The documents."""

    loader: Any = None
    """What loads more of them at the beginning of a run."""

    def load_content(self) -> list[Any]:
        """All of the documents."""
        loaded: list[Any] = [] if self.loader is None else list(self.loader.load())
        for one in (found := [*self.documents, *loaded]):
            if not is_document(one):
                raise SourceError(
                    f"the knowledge source `{self.title}` holds {one!r:.60}, which is no LangChain document"
                )
        return found

    def _parts(self) -> list[Passage]:
        return [Passage(one.page_content, plain(one.metadata)) for one in self.load_content()]


class RetrieverKnowledgeSource(BaseKnowledgeSource):
    """A LangChain retriever: it is asked with each query; nothing of it is kept here."""

    retriever: Any
    """The retriever."""

    def passages(self) -> list[Passage]:
        """None: it is asked."""
        return []

    def add(self) -> None:
        """Nothing: it is asked."""

    def found(self, query: str, limit: int) -> list[SearchResult]:
        """What the retriever finds, in its order; what has no score counts as 1."""
        return _results(self.retriever.invoke(query), limit)

    async def afound(self, query: str, limit: int) -> list[SearchResult]:
        """What the retriever finds; see `found`."""
        return _results(await acall(self.retriever.ainvoke, query), limit)

    async def aadd(self) -> None:
        """Nothing: it is asked."""
        await in_thread(self.add)


def _results(documents: Sequence[Any], limit: int) -> list[SearchResult]:
    return [_result(one) for one in documents[:limit]]


def _result(document: Any) -> SearchResult:
    metadata = cast(dict[str, Any], plain(document.metadata))
    score = next((metadata[name] for name in _SCORES if isinstance(metadata.get(name), (int, float))), 1.0)
    key = str(getattr(document, "id", None) or digest(document.page_content, metadata))
    return {"id": key, "content": document.page_content, "metadata": metadata, "score": float(score)}
