"""From sources to the passages that are to be kept."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic_core import PydanticSerializationError

from crewgraph.core.digests import digest
from crewgraph.core.loops.bridge import call, wait_for
from crewgraph.knowledge.passage import Passage, SearchResult, grouped
from crewgraph.knowledge.source.base_knowledge_source import BaseKnowledgeSource
from crewgraph.knowledge.storage.base_knowledge_storage import BaseKnowledgeStorage

__all__ = ["Units", "gathered"]

Units = dict[str, list[Passage]]
"""Passages by what they belong to: a file, an address, or a source."""

_NOT_ITS_NAME = {
    *("chunks", "chunk_embeddings", "storage", "collection_name", "document_converter"),
    *("file_path", "file_paths", "safe_file_paths", "urls"),
}
"""Fields that do not say which source it is, or stand with each of its passages."""


def gathered(source: BaseKnowledgeSource, storage: Any) -> Units:
    """What a source consists of now, by where it is from; its `chunks` are set, too.

    A class with an `add` of its own is asked to add itself, and what it saves is taken.

    Args:
        source: the source.
        storage: where it will be kept, which is its `storage` from now on.

    Raises:
        SourceError: it cannot be used.
        Exception: whatever a class of the user's raised.
    """
    source.refresh()
    if _is_ours(source):
        return _cut(source, storage)
    collected = _begin(source)
    try:
        if type(source).add is BaseKnowledgeSource.add:
            wait_for(source.aadd())
        else:
            call(source.add)
    finally:
        source.storage = storage
    return _units(source, collected)


def _is_ours(source: BaseKnowledgeSource) -> bool:
    kind = type(source)
    return kind.add is BaseKnowledgeSource.add and kind.aadd is BaseKnowledgeSource.aadd


def _cut(source: BaseKnowledgeSource, storage: Any) -> Units:
    passages = source.passages()
    source.chunks, source.storage = [one.text for one in passages], storage
    return grouped(passages, _named(source))


class _Collected(BaseKnowledgeStorage):
    """Takes what a source saves."""

    documents: list[str] = []

    def save(self, documents: list[str]) -> None:
        self.documents = [*self.documents, *documents]

    def search(self, query: list[str], *_args: Any, **_given: Any) -> list[SearchResult]:
        return []

    def reset(self) -> None:
        self.documents = []


def _begin(source: BaseKnowledgeSource) -> _Collected:
    # An `add` appends to `chunks`: what an earlier one left there would be known for ever.
    source.chunks = list(source.given_chunks())
    collected = _Collected()
    source.storage = collected
    return collected


def _units(source: BaseKnowledgeSource, collected: _Collected) -> Units:
    saved: Sequence[str] = collected.documents
    return grouped([Passage(text, dict(source.metadata)) for text in saved if text.strip()], _named(source))


def _named(source: BaseKnowledgeSource) -> str:
    """What a source is called among others of its kind: the same as long as it is made in the same way.

    Where its texts are from stands behind it, so the names of files and addresses are no part of it.
    """
    fields = {field: getattr(source, field) for field in type(source).model_fields if field not in _NOT_ITS_NAME}
    if not isinstance(fields.get("content"), str):
        fields.pop("content", None)
    return f"{type(source).__name__}-{digest({field: _told(value) for field, value in fields.items()})}"


def _told(value: Any) -> Any:
    """A field as it stands in a name; what is no data, as a vector store, by its class."""
    if isinstance(value, Path):
        return str(value)
    try:
        digest(value)
    except PydanticSerializationError:
        return type(value).__qualname__
    return value
