"""What every source of knowledge has."""

from abc import ABC
from collections.abc import Mapping
from typing import Any, Self, cast

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from crewgraph.core.loops.bridge import in_thread
from crewgraph.errors import SourceError
from crewgraph.knowledge.chunks import OVERLAP, SIZE, chunked, sizes_fault
from crewgraph.knowledge.passage import Passage
from crewgraph.outdated import tell_outdated

__all__ = ["BaseKnowledgeSource"]


class BaseKnowledgeSource(BaseModel, ABC):
    """The base of sources; subclass it for a source of your own.

    `load_content` is enough: what it returns (a text, or texts by where they are from) is cut into chunks and kept. Or write
    `add`, which fills `chunks` (`self._chunk_text(text)`) and calls `self._save_documents()`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    chunk_size: int = SIZE
    """Characters of a chunk, at most."""

    chunk_overlap: int = OVERLAP
    """Characters that a chunk has in common with the one before it."""

    chunks: list[str] = Field(default_factory=list[str])
    """Its text in pieces, once it was added."""

    chunk_embeddings: list[Any] = Field(default_factory=list[Any], exclude=True)
    """Kept for programs that read it; vectors are in the storage."""

    storage: Any = None
    """Where it is kept."""

    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])
    """What is known of all of its chunks."""

    collection_name: str | None = None
    """Kept for programs that set it; what it is a part of names the collection."""

    _given_chunks: list[str] | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _sizes(self) -> Self:
        if fault := sizes_fault(self.chunk_size, self.chunk_overlap):
            raise ValueError(fault)
        return self

    @property
    def title(self) -> str:
        """What it is called in messages."""
        return type(self).__name__

    def validate_content(self, *_given: Any) -> Any:
        """See whether its content can be used; a class may have its own."""
        return None

    def load_content(self) -> Any:
        """Its content: a text, or texts by where they are from."""
        raise SourceError(
            f"the source `{self.title}` has nothing to be kept: give its class a `load_content`, which returns its text, or an "
            "`add`, which fills `self.chunks` and calls `self._save_documents()`"
        )

    def refresh(self) -> None:
        """Look again at what it is made of, which may have changed."""

    def passages(self) -> list[Passage]:
        """Its chunks, with what is known of each.

        Raises:
            SourceError: there is nothing in it, or it cannot be read.
        """
        cut = [
            Passage(chunk, {**self.metadata, **part.metadata})
            for part in self._parts()
            for chunk in self._chunk_text(part.text)
        ]
        if not cut:
            raise SourceError(f"there is no text in the knowledge source `{self.title}`; leave it out, or fill it")
        return cut

    def _parts(self) -> list[Passage]:
        content = self.load_content()
        if isinstance(content, Mapping):
            named = cast(Mapping[Any, Any], content)
            return [Passage(str(text), {"source": str(name)}) for name, text in named.items()]
        texts = cast(list[Any], content) if isinstance(content, (list, tuple)) else [content]
        return [Passage(str(text)) for text in texts]

    def add(self) -> None:
        """Cut it into chunks, and keep these in its `storage`.

        Raises:
            SourceError: there is nothing in it, or it cannot be read.
            ValueError: it has no storage.
        """
        self.chunks = [one.text for one in self.passages()]
        self._save_documents()

    async def aadd(self) -> None:
        """Cut it into chunks, and keep these in its `storage`; see `add`."""
        await in_thread(self.add)

    def get_embeddings(self) -> list[Any]:
        """`chunk_embeddings`."""
        return self.chunk_embeddings

    def given_chunks(self) -> list[str]:
        """The chunks that it had before it was first added."""
        if self._given_chunks is None:
            self._given_chunks = list(self.chunks)
        return self._given_chunks

    def _chunk_text(self, text: str) -> list[str]:
        return chunked(text, self.chunk_size, self.chunk_overlap)

    def _save_documents(self) -> None:
        self._checked_storage().save(self.chunks)

    def save_documents(self, metadata: dict[str, Any] | None = None) -> None:
        """The former name of `_save_documents`."""
        tell_outdated("`save_documents` of a knowledge source", "write `self._save_documents()`")
        self.metadata = {**self.metadata, **(metadata or {})}
        self._save_documents()

    async def _asave_documents(self) -> None:
        await self._checked_storage().asave(self.chunks)

    def _checked_storage(self) -> Any:
        if self.storage is None:
            raise ValueError(
                f"the source `{self.title}` has no `storage`; give it to a `Knowledge`, a crew or an agent, or set one"
            )
        return self.storage
