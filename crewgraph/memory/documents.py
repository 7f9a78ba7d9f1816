"""What is recalled, as LangChain documents."""

from collections.abc import Sequence

from langchain_core.documents import Document

from crewgraph.memory.record import MemoryMatch

__all__ = ["documents"]

_NOTED = {"id", "scope", "categories", "importance", "source"}


def documents(matches: Sequence[MemoryMatch]) -> list[Document]:
    """A document for each match."""
    return [
        Document(
            page_content=match.record.content,
            metadata={**match.record.metadata, **match.record.model_dump(include=_NOTED), "score": match.score},
        )
        for match in matches
    ]
