"""What every source of knowledge has.

What sources of files have.

A text as a source.

Text files as a source.
"""

from abc import ABC
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator, model_validator

from crewgraph.core.loops.bridge import in_thread
from crewgraph.errors import SourceError
from crewgraph.knowledge.files import decoded, found_file, read_file, shown
from crewgraph.knowledge.passage import OVERLAP, SIZE, Passage, chunked, sizes_fault
from crewgraph.outdated import tell_outdated

__all__ = ["BaseFileKnowledgeSource", "BaseKnowledgeSource", "StringKnowledgeSource", "TextFileKnowledgeSource"]


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


_Stamp = tuple[int, int]


class BaseFileKnowledgeSource(BaseKnowledgeSource, ABC):
    """The base of sources of files; a class of your own writes `read`, or `load_content`.

    Files are looked at when the source is made, so that what is missing is told before anything is run; and again at the
    beginning of each run, so that what has changed is known.

    Raises:
        SourceNotFound: a file is not there (also FileNotFoundError).
        SourceRefused: a file lies outside of the folder for knowledge.
        SourceError: a file cannot be read, or there is nothing in it.
    """

    file_path: Any = None
    """CrewAI's former name for `file_paths`."""

    file_paths: Any = Field(default_factory=list[Any])
    """A path or a list of them: texts are paths in the folder for knowledge, `knowledge/` in the working directory."""

    root: Path | None = None
    """The folder for knowledge of this source, where it is another one."""

    encoding: str | None = None
    """How its texts are written, where it is not UTF-8."""

    content: dict[Path, Any] = Field(default_factory=dict[Path, Any])
    """The text of each file."""

    safe_file_paths: list[Path] = Field(default_factory=list[Path])
    """The files, as they were found."""

    _stamps: dict[Path, _Stamp] = PrivateAttr(default_factory=dict[Path, _Stamp])
    _read: dict[Path, list[Passage]] = PrivateAttr(default_factory=dict[Path, list[Passage]])

    @field_validator("file_path", "file_paths", mode="after")
    @classmethod
    def _paths(cls, value: Any) -> Any:
        for one in _listed(value):
            if not isinstance(one, (str, Path)):
                raise ValueError(f"`file_paths` is a path, or a list of paths, as texts or `Path`s, not {one!r:.60}")
        return value

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.given_paths:
            raise ValueError(f"`{type(self).__name__}` needs `file_paths`: a path, or a list of paths")
        return self

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        if self.given_paths:
            self.refresh()

    @property
    def given_paths(self) -> list[str | Path]:
        """The files as they were named."""
        return _listed(self.file_paths) or _listed(self.file_path)

    @property
    def title(self) -> str:
        """What it is called in messages."""
        return f"{type(self).__name__}({', '.join(map(str, self.given_paths))})"

    def refresh(self) -> None:
        """Read the files again, where they have changed."""
        self.safe_file_paths = [self.convert_to_path(one) for one in self.given_paths]
        stamps = {one: _stamp(one) for one in self.safe_file_paths}
        if stamps != self._stamps:
            self.validate_content()
            self.content = self.load_content()
            self._stamps = stamps

    def convert_to_path(self, path: str | Path) -> Path:
        """The file that a path means.

        Raises:
            SourceNotFound: there is none.
            SourceRefused: it lies outside of the folder for knowledge.
        """
        return found_file(path, self.root)

    def load_content(self) -> dict[Path, Any]:
        """The text of each file."""
        self._read = {file: self.read(read_file(file), file) for file in self.safe_file_paths}
        return {file: "\n\n".join(part.text for part in parts) for file, parts in self._read.items()}

    def read(self, data: bytes, file: Path) -> list[Passage]:
        """What stands in a file, as passages that are cut into chunks; `metadata` of each are added to its source.

        Args:
            data: the bytes of the file.
            file: where it is.

        Raises:
            SourceError: it cannot be read.
        """
        return [Passage(decoded(data, shown(file, self.root), self.encoding))]

    def _parts(self) -> list[Passage]:
        read = self._read if self._reads else {file: [Passage(str(text))] for file, text in self.content.items()}
        return [
            Passage(part.text, {"source": shown(file, self.root), **part.metadata})
            for file, parts in read.items()
            for part in parts
        ]

    @property
    def _reads(self) -> bool:
        """Whether the content is what `read` gave; a class of the user's may load it in another way."""
        return bool(self._read) and set(self._read) == set(self.content)


def _listed(paths: Any) -> list[Any]:
    if paths is None:
        return []
    if isinstance(paths, Sequence) and not isinstance(paths, (str, bytes)):
        return list(cast(Sequence[Any], paths))
    return [paths]


def _stamp(file: Path) -> _Stamp:
    told = file.stat()
    return told.st_mtime_ns, told.st_size


class StringKnowledgeSource(BaseKnowledgeSource):
    """A text that agents know."""

    source_type: Literal["string"] = "string"

    content: str
    """The text."""

    def load_content(self) -> str:
        """The text."""
        return self.content

    def _parts(self) -> list[Passage]:
        return [Passage(self.load_content())]


class TextFileKnowledgeSource(BaseFileKnowledgeSource):
    """Text files that agents know: `TextFileKnowledgeSource(file_paths=["manual.txt"])`."""

    source_type: Literal["text_file"] = "text_file"
